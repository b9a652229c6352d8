"""Experiments, which are named sets of runs: their grids, execution and files.

A run is an algorithm executed by the simulator. A point is the combination of all parameters that
determine the results of a run: topology, collective, algorithm, message size, and so on. An
experiment has one run per point of its grids.
"""
