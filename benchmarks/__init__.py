"""Benchmarks. Most also measure a reference in the same run, so that ratios can be compared."""
