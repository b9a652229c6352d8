"""Experiments: grids of points, their execution, storage and reproduction."""
