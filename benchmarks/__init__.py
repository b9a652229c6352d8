"""Benchmarks, each against a reference of the same run. Compare ratios, not seconds."""
