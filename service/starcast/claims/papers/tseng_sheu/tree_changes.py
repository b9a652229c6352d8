"""Tseng & Sheu 1997, section 5 and 6.2: label change, dimension change, and how often their trees use the links."""

from fractions import Fraction

import numpy as np

from starcast import checkers
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter
from starcast.claims.growth import divided, factorial
from starcast.claims.reference import bfs, tree_transforms
from starcast.claims.reference.place_labels import outgoing_links
from starcast.claims.registry import check

_TWO = ("rotated-hamiltonian", "necklace")


@check("TS.D3")
def _label_change(check: ClaimCheck) -> None:
    topology, objects = check.topology, check.objects
    for tree in tree_transforms.trees(objects, topology, elsewhere=True):
        for x in bfs.roots(topology, 3):
            made = tree_transforms.relabelled(objects, topology, tree, x)
            check.passes(checkers.spanning(topology, made.row[None], made.root), of=made.name)
            if not tree.drawn:
                forest = objects.forest(topology.spec, "label-change", root=x, base=tree.name)
                check.equal(
                    "ports of LC(x,T)",
                    forest.parent_port,
                    made.row,
                    node=lambda _, v: topology.label(v),
                    of=forest,
                )
    if topology.n == 4:
        _label_example(check)


def _label_example(check: ClaimCheck) -> None:
    topology, objects = check.topology, check.objects
    x, change = "4132", str.maketrans("1234", "4132")
    before = objects.forest("S4", "greedy").parent_port[0]
    forest = objects.forest("S4", "label-change", root=topology.rank(x), base="greedy")
    above = bfs.parents(objects, topology, before)
    now = bfs.parents(objects, topology, forest.parent_port[0])
    check.equal(
        "root of LC(3021, L(0123))",
        topology.label(forest.root),
        "1234".translate(change),
        of=forest,
    )
    for node in range(1, topology.nodes):
        label = topology.label(node)
        found = topology.label(int(now[topology.rank(label.translate(change))]))
        check.equal(
            "parent in LC(3021, L(0123))",
            found,
            topology.label(int(above[node])).translate(change),
            node=label,
            of=forest,
        )


@check("TS.D4")
def _dimension_change(check: ClaimCheck) -> None:
    topology, objects = check.topology, check.objects
    for tree in tree_transforms.trees(objects, topology, elsewhere=True):
        for i in range(topology.n - 1):
            made = tree_transforms.turned(objects, topology, tree, i)
            check.equal(
                "root of DC(i,T)",
                topology.label(made.root),
                topology.label(tree.root),
                i=i,
                of=made.name,
            )
            check.passes(checkers.spanning(topology, made.row[None], tree.root), of=made.name)
            if not tree.drawn:
                forest = objects.forest(topology.spec, "dimension-change", base=tree.name, i=i)
                check.equal(
                    "ports of DC(i,T)",
                    forest.parent_port,
                    made.row,
                    node=lambda _, v: topology.label(v),
                    of=forest,
                )
    if topology.n == 4:
        forest = objects.forest("S4", "dimension-change", base="greedy", i=1)
        stated = [
            path.translate(str.maketrans("123", "231"))
            for path in _paths(check, objects.forest("S4", "greedy").parent_port[0])
        ]
        found = _paths(check, forest.parent_port[0])
        check.equal(
            "dimensions of the paths of DC(1, L(0123)), from 0",
            " ".join(found),
            " ".join(sorted(stated)),
            of=forest,
        )


def _paths(check: ClaimCheck, row: tree_transforms.Row) -> list[str]:
    """The dimensions, from 0, on the paths from the identity to all nodes, as words in order."""
    parent = bfs.parents(check.objects, check.topology, row)
    words = []
    for node in range(check.topology.nodes):
        word, at = "", node
        while parent[at] >= 0 and len(word) <= check.topology.nodes:
            word, at = str(row[at] - 1) + word, int(parent[at])
        words.append(word)
    return sorted(words)


@check("TS.S51-roots")
def _roots(check: ClaimCheck) -> None:
    topology, objects = check.topology, check.objects
    for tree in tree_transforms.trees(objects, topology):
        for x in bfs.roots(topology, 3):
            for i in range(topology.n - 1):
                made = tree_transforms.relabelled(
                    objects, topology, tree_transforms.turned(objects, topology, tree, i), x
                )
                check.equal("root", topology.label(made.root), topology.label(x), i=i, of=made.name)
                check.passes(checkers.spanning(topology, made.row[None], x), of=made.name)
                if tree.name == "greedy":
                    forest = objects.forest(
                        topology.spec, "dimension-change", root=x, base=tree.name, i=i
                    )
                    check.equal(
                        "ports",
                        forest.parent_port,
                        made.row,
                        node=lambda _, v: topology.label(v),
                        of=forest,
                    )


@check("TS.L7", bytes_per_node=lambda topology: 16 * topology.nodes)
def _equal_loads(check: ClaimCheck) -> None:
    topology, at = check.topology, outgoing_links(check.objects, check.topology)

    def link(_level: int, node: int, column: int) -> str:
        return at(node, column)

    for tree in tree_transforms.trees(check.objects, topology, elsewhere=True):
        found, nodes = tree_transforms.uses(check.objects, topology, tree, topology.n - 1)
        stated = nodes[:, None, None]
        check.equal(
            "trees with a link on a level", found, stated, level=_level, link=link, of=tree.name
        )


def _level(index: int, _node: int, _column: int) -> int:
    return index + 1


@check("TS.S62-height")
def _heights(check: ClaimCheck) -> None:
    topology, n = check.topology, check.topology.n
    stated = {"rotated-hamiltonian": factorial(n - 1) + 1, "necklace": diameter(n)}
    for name, height in stated.items():
        tree = check.objects.forest(topology.spec, name)
        check.passes(checkers.spanning(topology, tree.parent_port, tree.root), of=tree)
        found = checkers.height(
            topology, tree.parent_port, tree.root, bound=topology.nodes
        ).measured
        check.equal(f"height of {name}", found, height, of=tree)
    check.same_order(
        "((n-1)! + 1) / (n-1)!", lambda n: divided(factorial(n - 1) + 1, factorial(n - 1))
    )


@check("TS.S62-equal", bytes_per_node=lambda topology: 16 * topology.nodes)
def _translates(check: ClaimCheck) -> None:
    topology, n = check.topology, check.topology.n
    mean = Fraction(factorial(n) - 1, n - 1)
    instead = check.correction(
        "a link is in as many translates as the tree has links of its dimension: (n!-1)/(n-1), which is no whole number for "
        "n >= 3, rounded down or up; translates of all n-1 dimension changes of the tree together use all links equally"
    )
    for name in _TWO:
        forest = check.objects.forest(topology.spec, name)
        tree = tree_transforms.Tree(name, forest.root, forest.parent_port[0])
        found = tree_transforms.uses(check.objects, topology, tree, 1)[0].sum(axis=0)
        at = outgoing_links(check.objects, topology)
        check.equal(f"translates of {name} on a link", found, mean, link=at, of=forest)
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
        together = tree_transforms.uses(check.objects, topology, tree, n - 1)[0].sum(axis=0)
        instead.equal(
            "trees on a link with all dimension changes",
            together,
            factorial(n) - 1,
            link=at,
            of=forest,
        )
