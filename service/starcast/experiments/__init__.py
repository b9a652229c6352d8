"""Experiments: named sets of runs, one per experiment point; their grids, execution and files.

An experiment point consists of all parameters that determine the figures of one run.
"""
