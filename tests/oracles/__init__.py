"""Oracles for tests: the definitions of the papers in plain Python, node by node.

The oracles are written from docs/definitions alone and import nothing from starcast. A node is the
tuple of its symbols, a tree maps every node except the root to its parent, and a schedule is a list
of rows. Symbols, positions and dimensions are counted from 1.
"""
