"""Tseng & Sheu 1997, sections 2 and 3: the trees L(r) and L-hat, their paths, heights and congestion."""

import numpy as np

from starcast import checkers
from starcast.claims.declaration import Family, stars
from starcast.claims.formulas import diameter
from starcast.claims.see import See

FAMILY = Family("tseng_sheu_trees")
claim = FAMILY.claim


@claim(
    "TS.L5",
    "Lemma 5",
    stars(7, 8, 9),
    "The height of tree i-1 of `multiple` is D_n + n + gcd(n,i) - 2, i = 1..n-1.",
)
def _heights(see: See) -> None:
    n = see.where.n
    trees = see.lab.forest(see.where.spec, "multiple")
    found = checkers.height(see.where, trees.parent_port, trees.root, bound=see.where.nodes).measured
    i = np.arange(1, n)
    see.equal("height of L-hat(rho^i(r))", found, diameter(n) + n + np.gcd(n, i) - 2, i=i, of=trees)
