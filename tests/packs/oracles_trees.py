"""The pack ``trees`` a second time, by brute force."""
