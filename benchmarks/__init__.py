"""Benchmarks, each relative to a reference in the same run. Compare ratios, not seconds."""
