"""The pack ``faults`` a second time, by brute force."""
