"""Brute-force oracles for the query pack ``faults``, over all paths and choices of trees."""

import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, pairwise

from starcast.topologies import topology
from support.packs.oracle_tools import (
    Case,
    Label,
    Values,
    across,
    descendants,
    forest_cases,
    labels,
    levels,
    oracle,
    parent,
    parents,
    port_between,
    ports,
    ranks,
    root,
    spec_of,
    to_root,
    trees_of,
)
from support.packs.stored_data import SPECS, forests

#: The dead nodes, or the dead links, such as ``12-21``.
Dead = tuple[str, ...]


@cache
def cut(forest: str, tree: int, dead_nodes: Dead = (), dead_links: Dead = ()) -> set[Label]:
    """Return the healthy nodes of a tree that have a fault on their path from the root."""
    # A link may be named from either of its ends.
    dead_ends = {frozenset(link.split("-")) for link in dead_links}
    result = set()
    for label in parents(forest, tree).keys() - set(dead_nodes):
        path = to_root(forest, tree, label)
        if set(path) & set(dead_nodes) or dead_ends & set(map(frozenset, pairwise(path))):
            result.add(label)
    return result


def reached(forest: str, tree: int, **dead: Dead) -> set[Label]:
    """Return the healthy nodes that a tree still reaches under faults, except the root."""
    healthy = parents(forest, tree).keys() - set(dead.get("dead_nodes", ()))
    return healthy - cut(forest, tree, **dead)


def left_out(forest: str, trees: Sequence[int], **dead: Dead) -> set[Label]:
    """Return the healthy nodes that are cut off in some of the given trees and reached by none."""
    before = set().union(*(cut(forest, tree, **dead) for tree in trees))
    return before.difference(*(reached(forest, tree, **dead) for tree in trees))


def some_faults(forest: str, seed: int) -> Case:
    """Return a case with a forest, and random dead nodes and links of its topology."""
    rng = random.Random(f"{forest} {seed}")  # noqa: S311 - reproducible test data
    spec = spec_of(forest)
    others = [label for label in labels(spec) if label != root(forest)]
    nodes = rng.sample(others, min(seed % 3, len(others)))
    links = [
        f"{label}-{across(spec, label, rng.choice(ports(spec)))}"
        for label in rng.sample(labels(spec), min(seed, 5) % 4 + 1)
    ]
    return {"forest": forest, "dead_nodes": tuple(nodes), "dead_links": tuple(links)}


def faults() -> list[Case]:
    """Return cases with random faults for every forest, and with special faults for some."""
    cases = [
        some_faults(forest.id, seed) for spec in SPECS for seed, forest in enumerate(forests(spec))
    ]
    for forest in (forests("S4")[1].id, forests("S5,3")[0].id, forests("Q4")[1].id):
        top, same = root(forest), {"forest": forest}
        child = next(child for child, above in parents(forest, 0).items() if above == top)
        link, turned = f"{child}-{top}", f"{top}-{child}"
        cases += [
            same,
            {**same, "dead_nodes": (top,)},
            {**same, "dead_nodes": (child,)},
            {**same, "dead_links": (link,)},
            {**same, "dead_nodes": (child, child), "dead_links": (link, turned)},
            *(some_faults(forest, seed) for seed in (7, 8)),
        ]
    return cases


def of_copies() -> Iterator[Case]:
    """Yield the cases of `faults` with several numbers of copies and messages."""
    for turn, case in enumerate(faults()):
        trees = len(trees_of(case["forest"]))
        yield {**case, "copies": turn % trees + 1, "messages": 1 + turn % 7}
        if trees > 1:
            yield {**case, "copies": min(2, trees), "messages": trees}


@oracle("faults/cut-off", "tree level parent node", faults(), order="tree level node")
def cut_off(forest: str, **dead: Dead) -> Iterator[Values]:
    """Yield the nodes that faults cut off in each tree."""
    for tree in trees_of(forest):
        for label in cut(forest, tree, **dead):
            yield tree, levels(forest, tree)[label], parent(forest, tree, label), label


@oracle("faults/damage", "tree reached unreached", faults())
def damage(forest: str, **dead: Dead) -> Iterator[Values]:
    """Yield, for each tree, the numbers of healthy nodes that are reached and that are cut off."""
    for tree in trees_of(forest):
        yield tree, len(reached(forest, tree, **dead)), len(cut(forest, tree, **dead))


@oracle(
    "faults/fewer-trees",
    "node trees_left reaching_trees failing_trees",
    [{**case, "required_trees": 1 + turn % 3} for turn, case in enumerate(faults())],
    order="trees_left node",
)
def fewer_trees(forest: str, required_trees: int = 1, **dead: Dead) -> Iterator[Values]:
    """Yield the nodes cut off in some tree that fewer than ``required_trees`` trees reach.

    Each row has the trees that reach the node, and the trees in which the node is cut off.
    """
    for label in labels(spec_of(forest)):
        lost = [tree for tree in trees_of(forest) if label in cut(forest, tree, **dead)]
        through = [tree for tree in trees_of(forest) if label in reached(forest, tree, **dead)]
        if lost and len(through) < required_trees:
            yield label, len(through), through, lost


@oracle("faults/unreached-nodes", "node trees", faults())
def unreached_nodes(forest: str, **dead: Dead) -> Iterator[Values]:
    """Yield the healthy nodes that are cut off in all trees that contain them.

    Each row also has the number of these trees.
    """
    for label in sorted(left_out(forest, trees_of(forest), **dead)):
        yield label, sum(label in parents(forest, tree) for tree in trees_of(forest))


@oracle(
    "faults/copies",
    "all_reached incomplete_nodes missing_messages all_choices_reach exposed_nodes"
    " sufficient_copies",
    of_copies(),
)
def copies(forest: str, copies: int, messages: int = 1, **dead: Dead) -> Iterator[Values]:
    """Yield one row about the nodes that miss messages under faults, if messages have copies.

    The first three columns assume that the copies use the trees in turn. The next two consider all
    choices of trees: whether every choice reaches all nodes, and how many nodes some choice misses.
    The last column is the smallest number of copies for which every choice reaches all nodes.
    """
    trees = trees_of(forest)
    assigned = [trees[copy % len(trees)] for copy in range(messages * copies)]
    spec = spec_of(forest)
    owed = {*labels(spec)[: topology(spec).endpoints]}
    lost = [
        owed & left_out(forest, assigned[copies * m : copies * (m + 1)], **dead)
        for m in range(messages)
    ]
    choices = {
        x: owed & set().union(*(left_out(forest, each, **dead) for each in combinations(trees, x)))
        for x in range(1, len(trees) + 1)
    }
    lost_by_all = set().union(*lost)
    missing = [m for m in range(min(messages, len(trees))) if lost[m]]
    exposed = choices[copies]
    sufficient = next((x for x, left in choices.items() if not left), None)
    yield not lost_by_all, len(lost_by_all), missing, not exposed, len(exposed), sufficient


@oracle(
    "faults/worst-nodes",
    "node unreached unreached_by_tree",
    [*forest_cases(), *forest_cases("S4", "Q4", limit=1), *forest_cases("S5", limit=1_000)],
)
def worst_nodes(forest: str, limit: int = 10) -> list[Values]:
    """Return the ``limit`` nodes whose failure cuts off the most nodes, summed over the trees."""
    rows: list[Values] = []
    for label in {label for tree in trees_of(forest) for label in parents(forest, tree)}:
        by_tree = [descendants(forest, tree)[label] for tree in trees_of(forest)]
        rows.append((label, sum(by_tree), by_tree))
    rank = ranks(spec_of(forest))
    worst = sorted(rows, key=lambda row: (-row[1], rank[row[0]]))[:limit]
    return sorted(worst, key=lambda row: (-row[1], row[0]))


@oracle(
    "faults/worst-links",
    "lower port higher unreached unreached_by_tree",
    [*forest_cases(), *forest_cases("S4", "Q4", limit=1), *forest_cases("S5,3", limit=1_000)],
)
def worst_links(forest: str, limit: int = 10) -> list[Values]:
    """Return the ``limit`` links whose failure cuts off the most nodes, summed over the trees."""
    edges = {edge for tree in trees_of(forest) for edge in parents(forest, tree).items()}
    rows: list[Values] = []
    rank = ranks(spec_of(forest))
    for lower, higher in {tuple(sorted(edge, key=rank.__getitem__)) for edge in edges}:
        by_tree = [0] * len(trees_of(forest))
        for tree in trees_of(forest):
            for end, other in ((lower, higher), (higher, lower)):
                if parent(forest, tree, end) == other:
                    by_tree[tree] = descendants(forest, tree)[end] + 1
        port = port_between(spec_of(forest), lower, higher)
        rows.append((lower, port, higher, sum(by_tree), by_tree))
    worst = sorted(rows, key=lambda row: (-row[3], rank[row[0]], rank[row[2]]))[:limit]
    return sorted(worst, key=lambda row: (-row[3], row[0], row[2]))
