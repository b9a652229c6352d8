"""Paper packs: one folder per paper, with ``claims.toml``, checks of the claims, and cost tables.

``common`` contains functions shared by several papers. starcast imports this folder as the package
``starcast_papers``, regardless of its location, so packs import each other by relative imports.
"""

#: The packs, in the order in which claims are listed.
PACKS = ("tseng_sheu", "sheu_liaw_chen", "fragopoulou_akl", "edge_disjoint_trees", "nk_star")
