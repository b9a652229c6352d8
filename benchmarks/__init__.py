"""Benchmarks, each with a reference measured in the same run. Only the ratios are comparable."""
