"""Experiments: grids of parameter points, and their execution, storage and reproduction."""
