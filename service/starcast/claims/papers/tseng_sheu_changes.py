"""Tseng & Sheu 1997, section 5 and 6.2: label change, dimension change, and how often their trees use the links."""

from fractions import Fraction

import numpy as np

from starcast import checkers
from starcast.claims.declaration import Family, stars
from starcast.claims.formulas import diameter
from starcast.claims.growth import divided, factorial
from starcast.claims.instruments import changing, searching
from starcast.claims.instruments.naming import leaving
from starcast.claims.see import See

FAMILY = Family("tseng_sheu_changes")
claim = FAMILY.claim
_TWO = ("rotated-hamiltonian", "necklace")


@claim(
    "TS.D3",
    "Definition 3",
    stars(6, 7, 7),
    "LC(x,T), which takes every node y to x∘y and keeps the dimensions of links, is a spanning tree for every node x and every "
    "spanning tree T. LC(4132, .), 3021 from 0, takes the symbols 1, 2, 3, 4 to 4, 1, 3, 2.",
    reading="The subscripts are lost in the definition; the example decides for x∘y, which acts on symbols.",
)
def _label_change(see: See) -> None:
    where, lab = see.where, see.lab
    for tree in changing.trees(lab, where, elsewhere=True):
        for x in searching.roots(where, 3):
            made = changing.relabelled(lab, where, tree, x)
            see.checked(checkers.spanning(where, made.row[None], made.root), of=made.name)
            if not tree.drawn:
                forest = lab.forest(where.spec, "label-change", root=x, base=tree.name)
                see.equal(
                    "ports of LC(x,T)",
                    forest.parent_port,
                    made.row,
                    node=lambda _, v: where.label(v),
                    of=forest,
                )
    if where.n == 4:
        _label_example(see)


def _label_example(see: See) -> None:
    where, lab = see.where, see.lab
    x, change = "4132", str.maketrans("1234", "4132")
    before = lab.forest("S4", "greedy").parent_port[0]
    forest = lab.forest("S4", "label-change", root=where.rank(x), base="greedy")
    above = searching.parents(lab, where, before)
    now = searching.parents(lab, where, forest.parent_port[0])
    see.equal(
        "root of LC(3021, L(0123))", where.label(forest.root), "1234".translate(change), of=forest
    )
    for node in range(1, where.nodes):
        label = where.label(node)
        found = where.label(int(now[where.rank(label.translate(change))]))
        see.equal(
            "parent in LC(3021, L(0123))",
            found,
            where.label(int(above[node])).translate(change),
            node=label,
            of=forest,
        )


@claim(
    "TS.D4",
    "Definition 4",
    stars(6, 7, 7),
    "DC(i,T), whose path from the root r over d1', d2', .., d' = ((d-2+i) mod (n-1)) + 2, comes from T's path over d1, d2, .., "
    "is a spanning tree rooted at r for every i. On S_4 DC(1, .) takes the dimensions 2, 3, 4 to 3, 4, 2.",
)
def _dimension_change(see: See) -> None:
    where, lab = see.where, see.lab
    for tree in changing.trees(lab, where, elsewhere=True):
        for i in range(where.n - 1):
            made = changing.turned(lab, where, tree, i)
            see.equal(
                "root of DC(i,T)", where.label(made.root), where.label(tree.root), i=i, of=made.name
            )
            see.checked(checkers.spanning(where, made.row[None], tree.root), of=made.name)
            if not tree.drawn:
                forest = lab.forest(where.spec, "dimension-change", base=tree.name, i=i)
                see.equal(
                    "ports of DC(i,T)",
                    forest.parent_port,
                    made.row,
                    node=lambda _, v: where.label(v),
                    of=forest,
                )
    if where.n == 4:
        forest = lab.forest("S4", "dimension-change", base="greedy", i=1)
        stated = [
            path.translate(str.maketrans("123", "231"))
            for path in _paths(see, lab.forest("S4", "greedy").parent_port[0])
        ]
        found = _paths(see, forest.parent_port[0])
        see.equal(
            "dimensions of the paths of DC(1, L(0123)), from 0",
            " ".join(found),
            " ".join(sorted(stated)),
            of=forest,
        )


def _paths(see: See, row: changing.Row) -> list[str]:
    """The dimensions, from 0, on the paths from the identity to all nodes, as words in order."""
    parent = searching.parents(see.lab, see.where, row)
    words = []
    for node in range(see.where.nodes):
        word, at = "", node
        while parent[at] >= 0 and len(word) <= see.where.nodes:
            word, at = str(row[at] - 1) + word, int(parent[at])
        words.append(word)
    return sorted(words)


@claim(
    "TS.S51-roots",
    "Section 5.1",
    stars(6, 7, 7),
    "For a spanning tree T rooted at the identity, LC(x, DC(i,T)), i = 0..n-2, are n-1 spanning trees, all rooted at x.",
)
def _roots(see: See) -> None:
    where, lab = see.where, see.lab
    for tree in changing.trees(lab, where):
        for x in searching.roots(where, 3):
            for i in range(where.n - 1):
                made = changing.relabelled(lab, where, changing.turned(lab, where, tree, i), x)
                see.equal("root", where.label(made.root), where.label(x), i=i, of=made.name)
                see.checked(checkers.spanning(where, made.row[None], x), of=made.name)
                if tree.name == "greedy":
                    forest = lab.forest(where.spec, "dimension-change", root=x, base=tree.name, i=i)
                    see.equal(
                        "ports",
                        forest.parent_port,
                        made.row,
                        node=lambda _, v: where.label(v),
                        of=forest,
                    )


@claim(
    "TS.L7",
    "Lemma 7",
    stars(6, 7, 7),
    "For any spanning tree T with any root, every directed link is on level t of equally many of the (n-1) n! trees "
    "LC(x, DC(i,T)), i = 0..n-2: of as many as T has nodes on level t.",
    weight=lambda where: 16 * where.nodes,
)
def _equal_loads(see: See) -> None:
    where, at = see.where, leaving(see.lab, see.where)

    def link(_level: int, node: int, column: int) -> str:
        return at(node, column)

    for tree in changing.trees(see.lab, where, elsewhere=True):
        found, nodes = changing.uses(see.lab, where, tree, where.n - 1)
        stated = nodes[:, None, None]
        see.equal(
            "trees with a link on a level", found, stated, level=_level, link=link, of=tree.name
        )


def _level(index: int, _node: int, _column: int) -> int:
    return index + 1


@claim(
    "TS.S62-height",
    "Section 6.2",
    stars(7, 8, 9, beyond=False),
    "The height of `rotated-hamiltonian` is (n-1)! up to a constant factor, that of `necklace` is D_n.",
)
def _heights(see: See) -> None:
    where, n = see.where, see.where.n
    stated = {"rotated-hamiltonian": factorial(n - 1) + 1, "necklace": diameter(n)}
    for name, height in stated.items():
        tree = see.lab.forest(where.spec, name)
        see.checked(checkers.spanning(where, tree.parent_port, tree.root), of=tree)
        found = checkers.height(where, tree.parent_port, tree.root, bound=where.nodes).measured
        see.equal(f"height of {name}", found, height, of=tree)
    see.same_order(
        "((n-1)! + 1) / (n-1)!", lambda n: divided(factorial(n - 1) + 1, factorial(n - 1))
    )


@claim(
    "TS.S62-equal",
    "Section 6.2",
    stars(6, 7, 7),
    "Every directed link is in equally many of the n! translates of `rotated-hamiltonian`, and of `necklace`: (n!-1)/(n-1).",
    reading="One tree of [8] a node, as the paper says; [8] itself takes n-1 trees where the message has n-1 parts.",
    weight=lambda where: 16 * where.nodes,
)
def _translates(see: See) -> None:
    where, n = see.where, see.where.n
    mean = Fraction(factorial(n) - 1, n - 1)
    instead = see.instead(
        "a link is in as many translates as the tree has links of its dimension: (n!-1)/(n-1), which is no whole number for "
        "n >= 3, rounded down or up; translates of all n-1 dimension changes of the tree together use all links equally"
    )
    for name in _TWO:
        forest = see.lab.forest(where.spec, name)
        tree = changing.Tree(name, forest.root, forest.parent_port[0])
        found = changing.uses(see.lab, where, tree, 1)[0].sum(axis=0)
        at = leaving(see.lab, where)
        see.equal(f"translates of {name} on a link", found, mean, link=at, of=forest)
        instead.equal(
            "translates on a link",
            found,
            np.bincount(tree.row, minlength=n + 1)[2:],
            link=at,
            of=forest,
        )
        instead.true(
            "one of two numbers",
            (found >= int(mean)) & (found <= int(mean) + 1),
            link=at,
            of=forest,
        )
        together = changing.uses(see.lab, where, tree, n - 1)[0].sum(axis=0)
        instead.equal(
            "trees on a link with all dimension changes",
            together,
            factorial(n) - 1,
            link=at,
            of=forest,
        )
