"""The catalogue: families, constructions and algorithms by name, from starcast and from plug-ins.

Each is declared by a decorator above its function: `starcast.family`, `starcast.construction` or
`starcast.algorithm`. Each decorator is defined in the module for its kind of entry
(`topologies/families.py`, `trees/construction.py`, `collectives/algorithm.py`); this package has
the code that they share.
"""
