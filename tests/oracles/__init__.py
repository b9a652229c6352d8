"""The definitions of the papers node by node, in plain Python: what tests compare starcast with.

Written from docs/definitions alone; nothing here imports starcast. A node is the tuple of its
symbols, a tree maps every node but the root to its parent, and a schedule is a list of rows.
Symbols, positions and dimensions are counted from 1.
"""
