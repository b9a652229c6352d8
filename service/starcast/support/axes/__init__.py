"""Axes: the parameters of a run, declared once, and the reading of their values."""
