"""Benchmarks, each with a reference that is measured in the same run, so that ratios compare."""
