"""The catalogue: families, constructions and algorithms, shipped or of a plug-in, by name.

Each is declared by a decorator above its function: `starcast.family`, `starcast.construction` or
`starcast.algorithm`. The decorators are defined with what they declare (`topologies/families.py`,
`trees/construction.py`, `collectives/algorithm.py`); here is what they share.
"""
