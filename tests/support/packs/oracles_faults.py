"""The pack ``faults`` a second time, by brute force: every way from the root, tree by tree, and every choice of trees."""

import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, pairwise

from starcast.trees import Forest
from support.packs.asking import (
    Case,
    Label,
    Row,
    across,
    by_id,
    labels,
    levels,
    of_forests,
    oracle,
    parent,
    parents,
    port_between,
    ports,
    root,
    spec_of,
    to_root,
)
from support.packs.loading import SPECS, forests

Links = tuple[str, ...]
Nodes = tuple[Label, ...]

# What the faults leave.


def dead_link(links: Links, one: Label, other: Label) -> bool:
    """Whether the link between two nodes is dead, whichever end was named first."""
    return f"{one}-{other}" in links or f"{other}-{one}" in links


@cache
def cut(forest: Forest, tree: int, nodes: Nodes, links: Links) -> set[Label]:
    """The living nodes of a tree with something dead on their way from the root."""
    found = set()
    for label in parents(forest, tree):
        way = to_root(forest, tree, label)
        if label not in nodes and (
            set(way) & set(nodes) or any(dead_link(links, *hop) for hop in pairwise(way))
        ):
            found.add(label)
    return found


def reached(forest: Forest, tree: int, nodes: Nodes, links: Links) -> set[Label]:
    """The living nodes of a tree, but the root, that it still reaches."""
    return parents(forest, tree).keys() - cut(forest, tree, nodes, links) - set(nodes)


def left_out(forest: Forest, trees: Sequence[int], nodes: Nodes, links: Links) -> set[Label]:
    """The nodes that some of these trees reach without the faults, and none with them."""
    before = set().union(*(cut(forest, tree, nodes, links) for tree in trees))
    return before.difference(*(reached(forest, tree, nodes, links) for tree in trees))


# Cases.


def some_faults(forest: Forest, seed: int) -> Case:
    """As many dead nodes and dead links as the seed says, drawn by lot; the links in either order of their ends."""
    lot = random.Random(f"{forest.id} {seed}")  # noqa: S311 - a test's lot, the same every time
    spec = forest.topology.spec
    others = [label for label in labels(spec) if label != root(forest)]
    nodes = lot.sample(others, min(seed % 3, len(others)))
    ends = [
        (label, across(spec, label, lot.choice(ports(spec))))
        for label in lot.sample(labels(spec), min(seed, 5) % 4 + 1)
    ]
    return {
        "forest": forest.id,
        "dead_nodes": nodes,
        "dead_links": [f"{one}-{other}" for one, other in ends],
    }


def faults() -> list[Case]:
    """Random faults of every forest; no fault, a dead root, a dead child, one dead link, all of it twice, of a few forests."""
    cases = [
        some_faults(forest, seed) for spec in SPECS for seed, forest in enumerate(forests(spec))
    ]
    for forest in (forests("S4")[1], forests("S5,3")[0], forests("Q4")[1]):
        child = next(
            label
            for label in labels(forest.topology.spec)
            if parent(forest, 0, label) == root(forest)
        )
        cases += [
            {"forest": forest.id},
            {"forest": forest.id, "dead_nodes": [root(forest)]},
            {"forest": forest.id, "dead_nodes": [child]},
            {"forest": forest.id, "dead_links": [f"{child}-{root(forest)}"]},
            {
                "forest": forest.id,
                "dead_nodes": [child] * 2,
                "dead_links": [f"{child}-{root(forest)}", f"{root(forest)}-{child}"],
            },
            *(some_faults(forest, seed) for seed in (7, 8)),
        ]
    return cases


def of_faults(**values: Sequence[int]) -> Iterator[Case]:
    """Those faults, with the values of other parameters in turn."""
    for turn, case in enumerate(faults()):
        yield {**case, **{name: given[turn % len(given)] for name, given in values.items()}}


def of_copies() -> Iterator[Case]:
    """Those faults, with as many copies as there are trees at most, and a few or many messages."""
    for turn, case in enumerate(faults()):
        trees = by_id(case["forest"]).trees
        yield {**case, "copies": turn % trees + 1, "messages": 1 + turn % 7}
        if trees > 1:
            yield {**case, "copies": min(2, trees), "messages": trees}


# The questions.


@oracle("faults/cut-off", faults())
def cut_off(
    forest: str, dead_nodes: Sequence[Label] = (), dead_links: Sequence[str] = ()
) -> list[Row]:
    """The nodes cut off in each tree, by level and label."""
    grown = by_id(forest)
    rows = [
        {
            "tree": tree,
            "level": levels(grown, tree)[label],
            "parent": parent(grown, tree, label),
            "node": label,
        }
        for tree in range(grown.trees)
        for label in cut(grown, tree, tuple(dead_nodes), tuple(dead_links))
    ]
    return sorted(rows, key=lambda row: (row["tree"], row["level"], row["node"]))


@oracle("faults/damage", faults())
def damage(
    forest: str, dead_nodes: Sequence[Label] = (), dead_links: Sequence[str] = ()
) -> list[Row]:
    """How many each tree reaches, and how many it does not."""
    grown, dead = by_id(forest), (tuple(dead_nodes), tuple(dead_links))
    return [
        {
            "tree": tree,
            "reached": len(reached(grown, tree, *dead)),
            "unreached": len(cut(grown, tree, *dead)),
        }
        for tree in range(grown.trees)
    ]


@oracle("faults/fewer-trees", of_faults(required_trees=(1, 2, 3)))
def fewer_trees(
    forest: str,
    dead_nodes: Sequence[Label] = (),
    dead_links: Sequence[str] = (),
    required_trees: int = 1,
) -> list[Row]:
    """The nodes cut off in some tree, with the trees that reach them and those that do not."""
    grown, dead = by_id(forest), (tuple(dead_nodes), tuple(dead_links))
    rows = []
    for label in labels(spec_of(forest)):
        lost = [tree for tree in range(grown.trees) if label in cut(grown, tree, *dead)]
        through = [tree for tree in range(grown.trees) if label in reached(grown, tree, *dead)]
        if lost and len(through) < required_trees:
            rows.append(
                {
                    "node": label,
                    "trees_left": len(through),
                    "reaching_trees": through,
                    "failing_trees": lost,
                }
            )
    return sorted(rows, key=lambda row: (row["trees_left"], row["node"]))


@oracle("faults/unreached-nodes", faults())
def unreached_nodes(
    forest: str, dead_nodes: Sequence[Label] = (), dead_links: Sequence[str] = ()
) -> list[Row]:
    """The nodes that are in some tree and that no tree reaches."""
    grown = by_id(forest)
    left = left_out(grown, range(grown.trees), tuple(dead_nodes), tuple(dead_links))
    return [
        {"node": label, "trees": sum(label in parents(grown, tree) for tree in range(grown.trees))}
        for label in sorted(left)
    ]


@oracle("faults/copies", of_copies())
def copies(
    forest: str,
    copies: int,
    dead_nodes: Sequence[Label] = (),
    dead_links: Sequence[str] = (),
    messages: int = 1,
) -> list[Row]:
    """The copies dealt one after the other, as cards are, to the trees; and every choice of trees."""
    grown, dead = by_id(forest), (tuple(dead_nodes), tuple(dead_links))
    cards = [card % grown.trees for card in range(messages * copies)]
    lost = [left_out(grown, cards[copies * m : copies * (m + 1)], *dead) for m in range(messages)]
    choices = {
        x: set().union(
            *(left_out(grown, trees, *dead) for trees in combinations(range(grown.trees), x))
        )
        for x in range(1, grown.trees + 1)
    }
    lost_by_all = set().union(*lost)
    return [
        {
            "all_reached": not lost_by_all,
            "incomplete_nodes": len(lost_by_all),
            "missing_messages": [m for m in range(min(messages, grown.trees)) if lost[m]],
            "all_choices_reach": not choices[copies],
            "exposed_nodes": len(choices[copies]),
            "sufficient_copies": next((x for x, left in choices.items() if not left), None),
        }
    ]


@oracle(
    "faults/worst-nodes",
    [*of_forests(), *of_forests("S4", "Q4", limit=1), *of_forests("S5", limit=1_000)],
)
def worst_nodes(forest: str, limit: int = 10) -> list[Row]:
    """What each node cuts off when it dies alone."""
    grown = by_id(forest)
    rows: list[Row] = []
    for label in {label for tree in range(grown.trees) for label in parents(grown, tree)}:
        by_tree = [below(grown, tree)[label] for tree in range(grown.trees)]
        rows.append({"node": label, "unreached": sum(by_tree), "unreached_by_tree": by_tree})
    return sorted(rows, key=lambda row: (-row["unreached"], row["node"]))[:limit]


@oracle(
    "faults/worst-links",
    [*of_forests(), *of_forests("S4", "Q4", limit=1), *of_forests("S5,3", limit=1_000)],
)
def worst_links(forest: str, limit: int = 10) -> list[Row]:
    """What each link that some tree uses cuts off when it dies alone: its lower end in that tree, and what is below it."""
    grown, spec = by_id(forest), spec_of(forest)
    rows: list[Row] = []
    for lower, higher in {
        tuple(sorted(edge)) for tree in range(grown.trees) for edge in parents(grown, tree).items()
    }:
        by_tree = [0] * grown.trees
        for tree in range(grown.trees):
            for end, other in ((lower, higher), (higher, lower)):
                if parent(grown, tree, end) == other:
                    by_tree[tree] = below(grown, tree)[end] + 1
        ends = {"lower": lower, "port": port_between(spec, lower, higher), "higher": higher}
        rows.append({**ends, "unreached": sum(by_tree), "unreached_by_tree": by_tree})
    return sorted(rows, key=lambda row: (-row["unreached"], row["lower"], row["higher"]))[:limit]


@cache
def below(forest: Forest, tree: int) -> dict[Label, int]:
    """How many nodes hang below each node of the topology in a tree."""
    found = dict.fromkeys(labels(forest.topology.spec), 0)
    for label in parents(forest, tree):
        for above in to_root(forest, tree, label)[1:]:
            found[above] += 1
    return found
