"""Experiments: grids of runs, their execution, and their reproduction."""
