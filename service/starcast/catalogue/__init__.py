"""The catalogue: families, constructions and algorithms by name, from starcast and from plug-ins.

Each entry is a function with one of the decorators `starcast.family`, `starcast.construction` and
`starcast.algorithm`. The decorators are defined in `topologies/families.py`,
`trees/construction.py` and `collectives/algorithm.py`.
"""
