"""Fragopoulou & Akl 1993, sections 5 and 6: scattering and gathering by rules 5 and 8, one message a node and M."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from starcast import checkers
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import distance_sum, even_share
from starcast.claims.growth import Number, divided, factorial
from starcast.claims.reference import bfs, lower_bound_counts, necklaces
from starcast.claims.reference.place_labels import node_labels
from starcast.claims.reference.scatter_trees import random_trees as drawn
from starcast.claims.registry import check
from starcast.collectives.model import Schedule
from starcast.collectives.rows import arranged, routed
from starcast.collectives.scatter import root_ports, scattered
from starcast.support.integers import ceil_div
from starcast.topologies import Topology
from starcast.trees.model import Forest

_SEED = 1993
_RANDOM = 3  # spanning trees drawn at random, and trees of section 5.1
_SINGLE = ("balanced", "near-balanced", "necklace", "greedy")
_LONG, _LONGEST = "hamiltonian-cycle", 120  # nodes: messages over links grow as the square


def _rows(topology: Topology) -> int:
    """Bytes a node of a scatter of 2(n-1) messages a node."""
    return 80 * 2 * topology.degree * topology.n


def _along(
    check: ClaimCheck, trees: Forest, name: str, ports: str = "all", messages: int = 1
) -> Schedule:
    """A scatter by rule 5, or one-port by rule 8, along some trees."""
    key = ("along", check.topology.spec, name, ports, trees.root, messages)
    given = {"messages": messages}
    return check.objects.get_or_create(
        "schedule", key, lambda: scattered(trees, ports, messages, algorithm=name, arguments=given)
    )


def _roots(check: ClaimCheck) -> tuple[int, ...]:
    """Some of those of every size."""
    roots = bfs.roots(check.topology)
    return roots[:: max(1, len(roots) // 4)]


def _many(check: ClaimCheck) -> tuple[int, ...]:
    """Numbers of messages a node: few, one below and above n-1, and multiples of it."""
    n = check.topology.n
    return tuple(sorted({1, 2, 3, n - 2, n - 1, n, 2 * (n - 1)} - {0}))


# Rule 5 on any tree


@check("FA.R5")
def _largest_subtree(check: ClaimCheck) -> None:
    for trees, name in _spanning(check):
        largest = checkers.branch_sizes(check.topology, trees.parent_port, trees.root).max()
        for made in (_along(check, trees, name), _ties_drawn(check, trees, name)):
            _furthest_first(check, made, trees, in_turn=False)
            check.equal(
                "steps",
                check.execute(made).steps,
                largest,
                root=check.topology.label(trees.root),
                of=made,
            )


def _furthest_first(check: ClaimCheck, made: Schedule, trees: Forest, *, in_turn: bool) -> None:
    """The root keeps rule 5, or rule 8 with the subtrees in turn, and all links are those of the one tree."""
    place = {"root": check.topology.label(made.root), "of": made}
    above = trees.parent_port[0, made.receiver]
    check.equal(
        "type of the link to a node",
        made.port,
        above,
        node=node_labels(check.topology, made.receiver),
        **place,
    )
    sent = np.flatnonzero(made.sender == made.root)
    sent = sent[np.lexsort((made.step[sent], made.port[sent]))]
    port, step, node = made.port[sent], made.step[sent], made.unit[sent]
    begins = 0 if in_turn else np.searchsorted(port, port)
    check.equal(
        "step in which the root sends",
        step,
        np.arange(len(sent)) - begins + 1,
        node=node_labels(check.topology, node),
        **place,
    )
    level = bfs.levels(
        bfs.parents(check.objects, check.topology, trees.parent_port[0]), trees.root
    )[node]
    nearer = (level[1:] <= level[:-1]) | (port[1:] != port[:-1])
    check.true(
        "no node is further away than the one before it",
        nearer,
        node=node_labels(check.topology, node[1:]),
        **place,
    )


def _ties_drawn(check: ClaimCheck, trees: Forest, name: str) -> Schedule:
    """Rule 5 down one tree, ties broken at random."""

    def made() -> Schedule:
        nodes = np.delete(np.arange(check.topology.nodes), trees.root)
        branch, level = root_ports(trees)[0, nodes], trees.levels()[0, nodes]
        order = np.lexsort((np.random.default_rng(_SEED).random(len(nodes)), -level, branch))
        departure = np.empty(len(nodes), dtype=np.int64)
        begins = np.searchsorted(branch[order], branch[order])
        departure[order] = np.arange(len(nodes)) - begins + 1
        return arranged(
            routed(trees, np.zeros_like(nodes), nodes, departure, nodes),
            topology=check.topology,
            collective="scatter",
            algorithm=name,
            ports="all",
            root=trees.root,
            units=check.topology.nodes,
            packets=False,
            forest=trees,
        )

    return check.objects.get_or_create(
        "schedule", ("ties at random", check.topology.spec, name, trees.root), made
    )


def _spanning(check: ClaimCheck) -> Iterator[tuple[Forest, str]]:
    """Spanning trees of the catalogue at several roots, of section 5.1 with free choices, and any at random."""
    topology = check.topology
    for root in (0, topology.nodes // 2, topology.nodes - 1):
        for name in (*_SINGLE, _LONG) if topology.nodes <= _LONGEST else _SINGLE:
            yield check.objects.forest(topology.spec, name, root=root), name
        for seed in range(_RANDOM):
            make = partial(bfs.random_tree, check.objects, topology, seed, root)
            row = check.objects.array(f"random tree {seed} at {root}", topology.spec, make)
            yield Forest(topology, row[None], root), f"random-{seed}"
    for number, row in enumerate(drawn(check.objects, topology, _RANDOM)):
        yield Forest(topology, row[None]), f"drawn-{number}"


# Section 5.1, one message a node


@check("FA.S51.steps", bytes_per_node=_rows)
def _balanced_steps(check: ClaimCheck) -> None:
    made = [
        check.objects.schedule(check.topology.spec, "scatter", "balanced", root=root)
        for root in _roots(check)
    ]
    for number, row in enumerate(drawn(check.objects, check.topology, _RANDOM)):
        made.append(_along(check, Forest(check.topology, row[None]), f"drawn-{number}"))
    for one in made:
        took = check.execute(one)
        place = {"root": check.topology.label(one.root)}
        check.equal("steps", took.steps, even_share(check.topology.n), **place, of=one)
        check.equal(
            "transmissions", took.transmissions, distance_sum(check.topology.n), **place, of=one
        )


# M messages a node


@check("FA.M.balanced", bytes_per_node=_rows)
def _balanced_many(check: ClaimCheck) -> None:
    trees = check.objects.forest(check.topology.spec, "balanced")
    for messages in _many(check):
        made = _along(check, trees, "balanced", messages=messages)
        stated = messages * even_share(check.topology.n)
        check.equal("steps", check.execute(made).steps, stated, M=messages, of=made)


@check("FA.M.near", bytes_per_node=_rows)
def _near_many(check: ClaimCheck) -> None:
    for messages in _many(check):
        made = check.objects.schedule(
            check.topology.spec, "scatter", "near-balanced", messages=messages
        )
        stated = messages * necklaces.largest_branch(check.topology.n)
        check.equal("steps", check.execute(made).steps, stated, M=messages, of=made)
    check.order("steps / M ceil((n!-1)/(n-1))", _near_ratio)


def _near_ratio(n: int) -> Number:
    """For every M."""
    return divided(necklaces.largest_branch(n), even_share(n))


@check("FA.M.minimum", bytes_per_node=_rows)
def _minimum(check: ClaimCheck) -> None:
    n, nodes = check.topology.n, int(factorial(check.topology.n))
    pluralize = lower_bound_counts.count_from_node(check)
    check.equal("nodes other than the root", pluralize.others, nodes - 1)
    check.equal("links of the root", pluralize.links, n - 1)
    for messages in (1, 2, n - 1, n):
        made = list(lower_bound_counts.unit_schedules_on_star(check, "scatter", messages=messages))
        lower_bound_counts.check_not_beaten(
            check, made, ceil_div(messages * (nodes - 1), n - 1), "steps", M=messages
        )


@check("FA.M.perfect", bytes_per_node=_rows)
def _perfect(check: ClaimCheck) -> None:
    for times in (1, 2):
        for root in _roots(check):
            messages = times * (check.topology.n - 1)
            made = check.objects.schedule(
                check.topology.spec, "scatter", "perfectly-balanced", messages=messages, root=root
            )
            took = check.execute(made)
            place = {"M": messages, "root": check.topology.label(root)}
            trees = check.objects.forest(check.topology.spec, "perfectly-balanced", root=root)
            above = trees.parent_port[made.tree, made.receiver]
            check.equal(
                "type of the link to a node",
                made.port,
                above,
                node=node_labels(check.topology, made.receiver),
                **place,
                of=made,
            )
            share = np.zeros(trees.parent_port.shape, dtype=np.int64)
            came = made.receiver == made.unit // messages
            np.add.at(share, (made.tree[came], made.receiver[came]), 1)
            inside = trees.parent_port > 0
            parts = np.where(inside, messages // np.maximum(inside.sum(axis=0), 1), 0)
            topology = {
                "tree": lambda tree, _: tree,
                "node": lambda _, node: check.topology.label(node),
            }
            check.equal(
                "messages of a node that come along a tree",
                share,
                parts,
                **place,
                **topology,
                of=made,
            )
            check.equal("steps", took.steps, _least(check, messages), **place, of=made)


@check("FA.M.multiple")
def _shares(check: ClaimCheck) -> None:
    n, period = check.topology.n, necklaces.periods(check.objects, check.topology)[1:]
    check.equal(
        "remainder of n-1 by the period",
        (n - 1) % period,
        0,
        node=lambda x: check.topology.label(x + 1),
    )
    k = (n - 1) // np.unique(period)
    messages = np.arange(1, 3 * (n - 1) + 1)
    whole = (messages[:, None] % k == 0).all(axis=1)
    check.equal("all shares are whole", whole, messages % (n - 1) == 0, M=messages)


@check("FA.S52-only", bytes_per_node=_rows)
def _only(check: ClaimCheck) -> None:
    n = check.topology.n
    perfect = _links(
        check.objects.schedule(check.topology.spec, "scatter", "perfectly-balanced", messages=n - 1)
    )
    shortest = check.reading(
        "no other trees take so few steps with the fewest transmissions too, M t_n"
    )
    instead = check.correction(
        "the balanced trees of section 5.1, numbered on over the messages, take as few steps for every M"
    )
    disjoint = check.objects.forest(check.topology.spec, "edge-disjoint")
    for messages in range(2, 2 * n - 1):
        turns = _along(check, disjoint, "edge-disjoint-in-turn", messages=messages)
        balanced = check.objects.schedule(
            check.topology.spec, "scatter", "balanced", messages=messages
        )
        for made in (turns, balanced):
            if not np.array_equal(_links(made), perfect):
                _takes_more(check, made, messages)
                if check.objects.simulation(made).transmissions == messages * distance_sum(n):
                    _takes_more(shortest, made, messages)
        instead.equal(
            "steps",
            instead.execute(balanced).steps,
            _least(check, messages),
            M=messages,
            of=balanced,
        )


def _takes_more(check: ClaimCheck, made: Schedule, messages: int) -> None:
    least = _least(check, messages) + 1
    check.at_least(
        "steps along other trees",
        check.execute(made).steps,
        least,
        M=messages,
        trees=made.algorithm,
        of=made,
    )


def _links(made: Schedule) -> NDArray[np.int64]:
    """The directed links that a schedule uses at all."""
    return np.unique(made.sender.astype(np.int64) * made.topology.n + made.port)


def _least(check: ClaimCheck, messages: int) -> int:
    """ceil(M(n!-1)/(n-1))."""
    return ceil_div(messages * (int(factorial(check.topology.n)) - 1), check.topology.n - 1)


# Section 6


def _one_at_a_time(check: ClaimCheck) -> Iterator[tuple[Schedule, Forest]]:
    """One-port scatters by rule 8, and their trees: those of section 5.1 and that of Definition 13."""
    for root in _roots(check):
        balanced = check.objects.forest(check.topology.spec, "balanced", root=root)
        yield _along(check, balanced, "one-port-balanced", "one"), balanced
        near = check.objects.forest(check.topology.spec, "near-balanced", root=root)
        yield (
            check.objects.schedule(
                check.topology.spec, "scatter", "one-port", ports="one", root=root
            ),
            near,
        )
    for number, row in enumerate(drawn(check.objects, check.topology, _RANDOM)):
        tree = Forest(check.topology, row[None])
        yield _along(check, tree, f"one-port-drawn-{number}", "one"), tree


@check("FA.R8")
def _rule_8(check: ClaimCheck) -> None:
    for made, trees in _one_at_a_time(check):
        _furthest_first(check, made, trees, in_turn=True)
        took = check.execute(made)
        place = {"root": check.topology.label(made.root), "of": made}
        check.equal("steps", took.steps, factorial(check.topology.n) - 1, **place)
        check.equal("transmissions", took.transmissions, distance_sum(check.topology.n), **place)


@check("FA.R8-clock")
def _clock(check: ClaimCheck) -> None:
    for made, trees in _one_at_a_time(check):
        first = made.sender == made.root
        last = np.zeros(check.topology.n + 1, dtype=np.int64)
        np.maximum.at(last, made.port[first], made.step[first])
        sizes = checkers.branch_sizes(check.topology, trees.parent_port, trees.root)[0]
        place = {"root": check.topology.label(made.root), "subtree": lambda j: j + 1}
        check.equal(
            "step of the last message, from 0", last[2:] - 1, np.cumsum(sizes) - 1, **place, of=made
        )


_GATHERED: tuple[tuple[str, str], ...] = (
    ("balanced", "all"),
    ("near-balanced", "all"),
    ("perfectly-balanced", "all"),
    ("one-port", "one"),
)


@check("FA.gather", bytes_per_node=_rows)
def _gather(check: ClaimCheck) -> None:
    for name, ports in _GATHERED:
        for messages in (check.topology.n - 1,) if name == "perfectly-balanced" else (1, 2):
            for root in _roots(check)[:2]:
                spec, given = check.topology.spec, {"messages": messages}
                there = check.objects.schedule(
                    spec, "scatter", name, ports=ports, root=root, **given
                )
                back = check.objects.schedule(spec, "gather", name, ports=ports, root=root, **given)
                _reversed(check, there, back, messages)


def _reversed(check: ClaimCheck, there: Schedule, back: Schedule, messages: int) -> None:
    out, home = check.execute(there), check.execute(back)
    place = {"M": messages, "root": check.topology.label(back.root), "of": back}
    check.equal("steps", home.steps, out.steps, **place)
    check.equal("transmissions", home.transmissions, out.transmissions, **place)
    turned = (there.steps + 1 - there.step, there.receiver, there.sender, there.unit, there.tree)
    found = np.column_stack((back.step, back.sender, back.receiver, back.unit, back.tree)).astype(
        np.int64
    )
    stated = np.column_stack(turned).astype(np.int64)
    check.equal("rows", len(found), len(stated), **place)
    if len(found) == len(stated):
        found, stated = (rows[np.lexsort(rows.T[::-1])] for rows in (found, stated))
        check.equal(
            "step, sender, receiver, message and tree of each row",
            found,
            stated,
            **place,
            row=lambda row, _: row,
        )
