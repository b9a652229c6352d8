"""Tseng & Sheu 1997, sections 5 and 6.2: label and dimension changes, and the use of links."""

from fractions import Fraction

import numpy as np

from starcast import checkers
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter
from starcast.claims.growth import factorial
from starcast.claims.papers.tseng_sheu.closed_forms import QUOTIENTS, heights
from starcast.claims.reference import bfs
from starcast.claims.reference.place_labels import outgoing_links
from starcast.claims.reference.tree_transforms import (
    Row,
    Tree,
    dimension_change,
    label_change,
    link_loads,
    sample_trees,
)
from starcast.claims.registry import check
from starcast.topologies import Topology
from starcast.trees.model import Forest


def check_spanning(check: ClaimCheck, tree: Tree, root: int) -> None:
    """Check that a changed tree spans from the stated root."""
    check.passes(checkers.spanning(check.topology, tree.row[None], root), of=tree.name)


def check_ports(check: ClaimCheck, what: str, forest: Forest, expected: Tree) -> None:
    """Check the ports of a forest of the catalogue against a changed tree."""
    place = {"node": lambda _, node: check.label(node), "of": forest}
    check.equal(what, forest.parent_port, expected.row, **place)


@check("TS.D3")
def label_changes_span(check: ClaimCheck) -> None:
    """Check that LC(x,T) is a spanning tree, its ports in the catalogue, and the example."""
    for tree in sample_trees(check, other_roots=True):
        for x in bfs.roots(check, 3):
            changed = label_change(check, tree, x)
            check_spanning(check, changed, changed.root)
            if tree.in_catalogue:
                forest = check.forest("label-change", root=x, base=tree.name)
                check_ports(check, "ports of LC(x,T)", forest, changed)
    if check.n == 4:
        check_label_example(check)


def check_label_example(check: ClaimCheck) -> None:
    """Check that LC(3021, L(0123)), from 0, replaces the symbols in every link of L(0123)."""
    x = "4132"
    replacement = str.maketrans("1234", x)
    base = check.forest("greedy").parent_port[0]
    forest = check.forest("label-change", root=check.rank(x), base="greedy")
    parents = bfs.parents(check, base)
    changed_parents = bfs.parents(check, forest.parent_port[0])
    root = check.label(forest.root)
    check.equal("root of LC(3021, L(0123))", root, "1234".translate(replacement), of=forest)
    for node in range(1, check.nodes):
        label = check.label(node)
        changed_node = check.rank(label.translate(replacement))
        measured = check.label(int(changed_parents[changed_node]))
        stated = check.label(int(parents[node])).translate(replacement)
        check.equal("parent in LC(3021, L(0123))", measured, stated, node=label, of=forest)


@check("TS.D4")
def dimension_changes_span(check: ClaimCheck) -> None:
    """Check that DC(i,T) is a spanning tree, its ports in the catalogue, and the example."""
    for tree in sample_trees(check, other_roots=True):
        stated = check.label(tree.root)
        for i in range(check.n - 1):
            changed = dimension_change(check, tree, i)
            check.equal("root of DC(i,T)", check.label(changed.root), stated, i=i, of=changed.name)
            check_spanning(check, changed, tree.root)
            if tree.in_catalogue:
                forest = check.forest("dimension-change", base=tree.name, i=i)
                check_ports(check, "ports of DC(i,T)", forest, changed)
    if check.n == 4:
        forest = check.forest("dimension-change", base="greedy", i=1)
        rotation = str.maketrans("123", "231")
        base_paths = dimension_words(check, check.forest("greedy").parent_port[0])
        measured = " ".join(dimension_words(check, forest.parent_port[0]))
        expected = " ".join(sorted(word.translate(rotation) for word in base_paths))
        what = "dimensions of the paths of DC(1, L(0123)), from 0"
        check.equal(what, measured, expected, of=forest)


def dimension_words(check: ClaimCheck, row: Row) -> list[str]:
    """Return the dimensions, from 0, on the paths from the identity to all nodes, sorted."""
    parent = bfs.parents(check, row)
    words = []
    for leaf in range(check.nodes):
        word = ""
        node = leaf
        while parent[node] >= 0 and len(word) <= check.nodes:
            word = str(row[node] - 1) + word
            node = int(parent[node])
        words.append(word)
    return sorted(words)


@check("TS.S51-roots")
def changed_trees_are_rooted_at_x(check: ClaimCheck) -> None:
    """Check that the n-1 trees LC(x, DC(i,T)) span from x."""
    for tree in sample_trees(check):
        for x in bfs.roots(check, 3):
            for i in range(check.n - 1):
                turned = dimension_change(check, tree, i)
                changed = label_change(check, turned, x)
                check.equal("root", check.label(changed.root), check.label(x), i=i, of=changed.name)
                check_spanning(check, changed, x)
                if tree.name == "greedy":
                    forest = check.forest("dimension-change", root=x, base=tree.name, i=i)
                    check_ports(check, "ports", forest, changed)


def translations_bytes(topology: Topology) -> int:
    """Return the bytes per node of all translations."""
    return 16 * topology.nodes


@check("TS.L7", bytes_per_node=translations_bytes)
def links_are_used_equally(check: ClaimCheck) -> None:
    """Check that on every level all links are used by as many trees as T has nodes there."""
    outgoing = outgoing_links(check)
    for tree in sample_trees(check, other_roots=True):
        loads, profile = link_loads(check, tree, check.n - 1)
        place = {
            "level": lambda index, _node, _port: index + 1,
            "link": lambda _level, node, port: outgoing(node, port),
        }
        what = "trees with a link on a level"
        check.equal(what, loads, profile[:, None, None], **place, of=tree.name)


@check("TS.S62-height")
def heights_of_single_trees(check: ClaimCheck) -> None:
    """Check the heights of both trees of [8], and the order of the first."""
    stated = {"rotated-hamiltonian": factorial(check.n - 1) + 1, "necklace": diameter(check.n)}
    for name, height in stated.items():
        tree = check.forest(name)
        check.passes(checkers.spanning(check.topology, tree.parent_port, tree.root), of=tree)
        check.equal(f"height of {name}", heights(tree), height, of=tree)
    check.same_order("((n-1)! + 1) / (n-1)!", QUOTIENTS["(n-1)!+1 over (n-1)!"])


@check("TS.S62-equal", bytes_per_node=translations_bytes)
def translates_use_links_equally(check: ClaimCheck) -> None:
    """Check the number of translates of both trees of [8] on every link."""
    n = check.n
    mean = Fraction(factorial(n) - 1, n - 1)
    correction = check.correction(
        "a link is in as many translates as the tree has links of its dimension: (n!-1)/(n-1), "
        "which is no whole number for n >= 3, rounded down or up; translates of all n-1 dimension "
        "changes of the tree together use all links equally"
    )
    links = outgoing_links(check)
    for name in ("rotated-hamiltonian", "necklace"):
        forest = check.forest(name)
        place = {"link": links, "of": forest}
        tree = Tree(name, forest.root, forest.parent_port[0])
        levels, _ = link_loads(check, tree, 1)
        loads = levels.sum(axis=0)
        check.equal(f"translates of {name} on a link", loads, mean, **place)
        links_of_dimension = np.bincount(tree.row, minlength=n + 1)[2:]
        correction.equal("translates on a link", loads, links_of_dimension, **place)
        is_rounded = (loads >= int(mean)) & (loads <= int(mean) + 1)
        correction.true("one of two numbers", is_rounded, **place)
        levels, _ = link_loads(check, tree, n - 1)
        what = "trees on a link with all dimension changes"
        correction.equal(what, levels.sum(axis=0), factorial(n) - 1, **place)
