"""Oracles for tests: definitions in plain Python, which import nothing from starcast.

The oracles of the papers follow docs/definitions; the other modules name what they follow. A node
is the tuple of its symbols, or its label where a module says so. A tree maps every node except the
root to its parent, and a schedule is a collection of rows. Symbols, positions and dimensions are
counted from 1.
"""
