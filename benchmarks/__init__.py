"""Benchmarks; each measures a reference in the same run, so that ratios can be compared."""
