"""Benchmarks, each with a reference measured in the same run. Compare only the ratios."""
