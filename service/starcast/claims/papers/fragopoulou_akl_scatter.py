"""Fragopoulou & Akl 1993, sections 5 and 6: scattering and gathering by rules 5 and 8, one message a node and M."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from starcast import checkers
from starcast.claims.declaration import Family, stars
from starcast.claims.formulas import distance_sum, even_share
from starcast.claims.growth import Number, divided, factorial
from starcast.claims.instruments import counting, necklaces, searching
from starcast.claims.instruments.naming import labelled
from starcast.claims.instruments.scatter_trees import drawn
from starcast.claims.see import See
from starcast.collectives.model import Schedule, build_schedule
from starcast.collectives.rows import route_units
from starcast.collectives.scatter import build_scatter, root_ports
from starcast.support.integers import ceil_div
from starcast.topologies import Topology
from starcast.trees.model import Forest

FAMILY = Family("fragopoulou_akl_scatter")
claim = FAMILY.claim

_SEED = 1993
_RANDOM = 3  # spanning trees drawn at random, and trees of section 5.1
_SINGLE = ("balanced", "near-balanced", "necklace", "greedy")
_LONG, _LONGEST = "hamiltonian-cycle", 120  # nodes: messages over links grow as the square


def _rows(where: Topology) -> int:
    """Bytes a node of a scatter of 2(n-1) messages a node."""
    return 80 * 2 * where.degree * where.n


def _along(see: See, trees: Forest, name: str, ports: str = "all", messages: int = 1) -> Schedule:
    """A scatter by rule 5, or one-port by rule 8, along some trees."""
    key = ("along", see.where.spec, name, ports, trees.root, messages)
    given = {"messages": messages}
    return see.lab.keep(
        "schedule", key, lambda: build_scatter(trees, ports, messages, algorithm=name, arguments=given)
    )


def _roots(see: See) -> tuple[int, ...]:
    """Some of those of every size."""
    roots = searching.roots(see.where)
    return roots[:: max(1, len(roots) // 4)]


def _many(see: See) -> tuple[int, ...]:
    """Numbers of messages a node: few, one below and above n-1, and multiples of it."""
    n = see.where.n
    return tuple(sorted({1, 2, 3, n - 2, n - 1, n, 2 * (n - 1)} - {0}))


# Rule 5 on any tree


@claim(
    "FA.R5",
    "Section 5, rule 5",
    stars(6, 7, 7),
    "Down any spanning tree, the furthest nodes first, all subtrees at once, ties broken in any way: as many steps as the "
    "largest subtree has nodes.",
    reading="How far a node is from the root is counted in the tree; in the paper's trees that is the distance.",
)
def _largest_subtree(see: See) -> None:
    for trees, name in _spanning(see):
        largest = checkers.branch_sizes(see.where, trees.parent_port, trees.root).max()
        for made in (_along(see, trees, name), _ties_drawn(see, trees, name)):
            _furthest_first(see, made, trees, in_turn=False)
            see.equal(
                "steps",
                see.executed(made).steps,
                largest,
                root=see.where.label(trees.root),
                of=made,
            )


def _furthest_first(see: See, made: Schedule, trees: Forest, *, in_turn: bool) -> None:
    """The root keeps rule 5, or rule 8 with the subtrees in turn, and all links are those of the one tree."""
    place = {"root": see.where.label(made.root), "of": made}
    above = trees.parent_port[0, made.receiver]
    see.equal(
        "type of the link to a node",
        made.port,
        above,
        node=labelled(see.where, made.receiver),
        **place,
    )
    sent = np.flatnonzero(made.sender == made.root)
    sent = sent[np.lexsort((made.step[sent], made.port[sent]))]
    port, step, node = made.port[sent], made.step[sent], made.unit[sent]
    begins = 0 if in_turn else np.searchsorted(port, port)
    see.equal(
        "step in which the root sends",
        step,
        np.arange(len(sent)) - begins + 1,
        node=labelled(see.where, node),
        **place,
    )
    level = searching.levels(
        searching.parents(see.lab, see.where, trees.parent_port[0]), trees.root
    )[node]
    nearer = (level[1:] <= level[:-1]) | (port[1:] != port[:-1])
    see.true(
        "no node is further away than the one before it",
        nearer,
        node=labelled(see.where, node[1:]),
        **place,
    )


def _ties_drawn(see: See, trees: Forest, name: str) -> Schedule:
    """Rule 5 down one tree, ties broken at random."""

    def made() -> Schedule:
        nodes = np.delete(np.arange(see.where.nodes), trees.root)
        branch, level = root_ports(trees)[0, nodes], trees.levels()[0, nodes]
        order = np.lexsort((np.random.default_rng(_SEED).random(len(nodes)), -level, branch))
        departure = np.empty(len(nodes), dtype=np.int64)
        begins = np.searchsorted(branch[order], branch[order])
        departure[order] = np.arange(len(nodes)) - begins + 1
        return build_schedule(
            route_units(trees, np.zeros_like(nodes), nodes, departure, nodes),
            topology=see.where,
            collective="scatter",
            algorithm=name,
            ports="all",
            root=trees.root,
            units=see.where.nodes,
            packets=False,
            forest=trees,
        )

    return see.lab.keep("schedule", ("ties at random", see.where.spec, name, trees.root), made)


def _spanning(see: See) -> Iterator[tuple[Forest, str]]:
    """Spanning trees of the catalogue at several roots, of section 5.1 with free choices, and any at random."""
    where = see.where
    for root in (0, where.nodes // 2, where.nodes - 1):
        for name in (*_SINGLE, _LONG) if where.nodes <= _LONGEST else _SINGLE:
            yield see.lab.forest(where.spec, name, root=root), name
        for seed in range(_RANDOM):
            make = partial(searching.random_tree, see.lab, where, seed, root)
            row = see.lab.array(f"random tree {seed} at {root}", where.spec, make)
            yield Forest(where, row[None], root), f"random-{seed}"
    for number, row in enumerate(drawn(see.lab, where, _RANDOM)):
        yield Forest(where, row[None]), f"drawn-{number}"


# Section 5.1, one message a node


@claim(
    "FA.S51.steps",
    "Section 5.1",
    stars(6, 7, 8),
    "Scattering by rule 5 over the tree of section 5.1 takes ceil((n!-1)/(n-1)) steps and t_n transmissions, at any root.",
    weight=_rows,
)
def _balanced_steps(see: See) -> None:
    made = [
        see.lab.schedule(see.where.spec, "scatter", "balanced", root=root) for root in _roots(see)
    ]
    for number, row in enumerate(drawn(see.lab, see.where, _RANDOM)):
        made.append(_along(see, Forest(see.where, row[None]), f"drawn-{number}"))
    for one in made:
        took = see.executed(one)
        place = {"root": see.where.label(one.root)}
        see.equal("steps", took.steps, even_share(see.where.n), **place, of=one)
        see.equal("transmissions", took.transmissions, distance_sum(see.where.n), **place, of=one)


# M messages a node


@claim(
    "FA.M.balanced",
    "Section 5.2",
    stars(6, 7, 7),
    "Scattering M messages a node over the one balanced tree takes M ceil((n!-1)/(n-1)) steps.",
    reading="All M messages of a node go along its one path, as the paper reckons; the root sends to the furthest nodes first.",
    weight=_rows,
)
def _balanced_many(see: See) -> None:
    trees = see.lab.forest(see.where.spec, "balanced")
    for messages in _many(see):
        made = _along(see, trees, "balanced", messages=messages)
        stated = messages * even_share(see.where.n)
        see.equal("steps", see.executed(made).steps, stated, M=messages, of=made)


@claim(
    "FA.M.near",
    "Section 5.2",
    stars(6, 7, 7),
    "Scattering M messages a node over the tree of Definition 13 takes O(M ceil((n!-1)/(n-1))) steps. In closed form M times "
    "its largest subtree: (n-1)! nodes, and one for each necklace that starts with 1 (Burnside); above n = 60 2(n-1)! - 1.",
    weight=_rows,
)
def _near_many(see: See) -> None:
    for messages in _many(see):
        made = see.lab.schedule(see.where.spec, "scatter", "near-balanced", messages=messages)
        stated = messages * necklaces.largest_branch(see.where.n)
        see.equal("steps", see.executed(made).steps, stated, M=messages, of=made)
    see.order("steps / M ceil((n!-1)/(n-1))", _near_ratio)


def _near_ratio(n: int) -> Number:
    """For every M."""
    return divided(necklaces.largest_branch(n), even_share(n))


@claim(
    "FA.M.minimum",
    "Section 5.2",
    stars(6, 6, 7),
    "The root has M(n!-1) messages to send over n-1 links, one a link and step: no schedule takes fewer than "
    "ceil(M(n!-1)/(n-1)) steps.",
    weight=_rows,
)
def _minimum(see: See) -> None:
    n, nodes = see.where.n, int(factorial(see.where.n))
    counted = counting.counted(see)
    see.equal("nodes other than the root", counted.others, nodes - 1)
    see.equal("links of the root", counted.links, n - 1)
    for messages in (1, 2, n - 1, n):
        made = list(counting.on_stars(see, "scatter", messages=messages))
        counting.not_beaten(see, made, ceil_div(messages * (nodes - 1), n - 1), "steps", M=messages)


@claim(
    "FA.M.perfect",
    "Section 5.2",
    stars(6, 7, 8),
    "For M a multiple of n-1, scattering M messages a node over the tree of Definition 15 takes ceil(M(n!-1)/(n-1)) steps.",
    weight=_rows,
)
def _perfect(see: See) -> None:
    for times in (1, 2):
        for root in _roots(see):
            messages = times * (see.where.n - 1)
            made = see.lab.schedule(
                see.where.spec, "scatter", "perfectly-balanced", messages=messages, root=root
            )
            took = see.executed(made)
            place = {"M": messages, "root": see.where.label(root)}
            trees = see.lab.forest(see.where.spec, "perfectly-balanced", root=root)
            above = trees.parent_port[made.tree, made.receiver]
            see.equal(
                "type of the link to a node",
                made.port,
                above,
                node=labelled(see.where, made.receiver),
                **place,
                of=made,
            )
            share = np.zeros(trees.parent_port.shape, dtype=np.int64)
            came = made.receiver == made.unit // messages
            np.add.at(share, (made.tree[came], made.receiver[came]), 1)
            inside = trees.parent_port > 0
            parts = np.where(inside, messages // np.maximum(inside.sum(axis=0), 1), 0)
            where = {"tree": lambda tree, _: tree, "node": lambda _, node: see.where.label(node)}
            see.equal(
                "messages of a node that come along a tree", share, parts, **place, **where, of=made
            )
            see.equal("steps", took.steps, _least(see, messages), **place, of=made)


@claim(
    "FA.M.multiple",
    "Section 5.2",
    stars(7, 8, 9),
    "M/k is whole for every k = (n-1)/p, p the period of a node other than 12..n, only if M is a multiple of n-1.",
    reading="Looked at for M = 1 to 3(n-1), which is enough: k divides n-1, so that what M/k leaves depends on M modulo n-1.",
)
def _shares(see: See) -> None:
    n, period = see.where.n, necklaces.periods(see.lab, see.where)[1:]
    see.equal(
        "remainder of n-1 by the period", (n - 1) % period, 0, node=lambda x: see.where.label(x + 1)
    )
    k = (n - 1) // np.unique(period)
    messages = np.arange(1, 3 * (n - 1) + 1)
    whole = (messages[:, None] % k == 0).all(axis=1)
    see.equal("all shares are whole", whole, messages % (n - 1) == 0, M=messages)


_OTHERS = "trees over which messages cross other directed links than over those of Definition 15"


@claim(
    "FA.S52-only",
    "Section 5.2, as printed",
    stars(6, 6, 6),
    "For every M > 1, a scatter of M messages a node along other trees than those of Definition 15 takes more than "
    "ceil(M(n!-1)/(n-1)) steps.",
    reading=f"Other trees are {_OTHERS}, as repaired. Looked at: the edge-disjoint trees of Fragopoulou & Akl 1996, each "
    "message along the next, and the balanced trees of section 5.1, numbered on over the messages.",
    weight=_rows,
)
def _only(see: See) -> None:
    n = see.where.n
    perfect = _links(
        see.lab.schedule(see.where.spec, "scatter", "perfectly-balanced", messages=n - 1)
    )
    shortest = see.reading(
        "no other trees take so few steps with the fewest transmissions too, M t_n"
    )
    instead = see.instead(
        "the balanced trees of section 5.1, numbered on over the messages, take as few steps for every M"
    )
    disjoint = see.lab.forest(see.where.spec, "edge-disjoint")
    for messages in range(2, 2 * n - 1):
        turns = _along(see, disjoint, "edge-disjoint-in-turn", messages=messages)
        balanced = see.lab.schedule(see.where.spec, "scatter", "balanced", messages=messages)
        for made in (turns, balanced):
            if not np.array_equal(_links(made), perfect):
                _takes_more(see, made, messages)
                if see.lab.simulation(made).transmissions == messages * distance_sum(n):
                    _takes_more(shortest, made, messages)
        instead.equal(
            "steps",
            instead.executed(balanced).steps,
            _least(see, messages),
            M=messages,
            of=balanced,
        )


def _takes_more(see: See, made: Schedule, messages: int) -> None:
    least = _least(see, messages) + 1
    see.at_least(
        "steps along other trees",
        see.executed(made).steps,
        least,
        M=messages,
        trees=made.algorithm,
        of=made,
    )


def _links(made: Schedule) -> NDArray[np.int64]:
    """The directed links that a schedule uses at all."""
    return np.unique(made.sender.astype(np.int64) * made.topology.n + made.port)


def _least(see: See, messages: int) -> int:
    """ceil(M(n!-1)/(n-1))."""
    return ceil_div(messages * (int(factorial(see.where.n)) - 1), see.where.n - 1)


# Section 6


def _one_at_a_time(see: See) -> Iterator[tuple[Schedule, Forest]]:
    """One-port scatters by rule 8, and their trees: those of section 5.1 and that of Definition 13."""
    for root in _roots(see):
        balanced = see.lab.forest(see.where.spec, "balanced", root=root)
        yield _along(see, balanced, "one-port-balanced", "one"), balanced
        near = see.lab.forest(see.where.spec, "near-balanced", root=root)
        yield see.lab.schedule(see.where.spec, "scatter", "one-port", ports="one", root=root), near
    for number, row in enumerate(drawn(see.lab, see.where, _RANDOM)):
        tree = Forest(see.where, row[None])
        yield _along(see, tree, f"one-port-drawn-{number}", "one"), tree


@claim(
    "FA.R8",
    "Section 6, rule 8",
    stars(6, 7, 8),
    "One-port scattering by rule 8 takes n!-1 steps and t_n transmissions, over trees of section 5.1 and of Definition 13.",
)
def _rule_8(see: See) -> None:
    for made, trees in _one_at_a_time(see):
        _furthest_first(see, made, trees, in_turn=True)
        took = see.executed(made)
        place = {"root": see.where.label(made.root), "of": made}
        see.equal("steps", took.steps, factorial(see.where.n) - 1, **place)
        see.equal("transmissions", took.transmissions, distance_sum(see.where.n), **place)


@claim(
    "FA.R8-clock",
    "Section 6",
    stars(6, 7, 8),
    "The root sends its last message for T_j, the subtree of link type j+1, in step NT_j - 1, the first step being 0; NT_j is "
    "the sum of the nodes of T_1, .., T_j.",
)
def _clock(see: See) -> None:
    for made, trees in _one_at_a_time(see):
        first = made.sender == made.root
        last = np.zeros(see.where.n + 1, dtype=np.int64)
        np.maximum.at(last, made.port[first], made.step[first])
        sizes = checkers.branch_sizes(see.where, trees.parent_port, trees.root)[0]
        place = {"root": see.where.label(made.root), "subtree": lambda j: j + 1}
        see.equal(
            "step of the last message, from 0", last[2:] - 1, np.cumsum(sizes) - 1, **place, of=made
        )


_GATHERED: tuple[tuple[str, str], ...] = (
    ("balanced", "all"),
    ("near-balanced", "all"),
    ("perfectly-balanced", "all"),
    ("one-port", "one"),
)


@claim(
    "FA.gather",
    "Section 6",
    stars(6, 6, 7),
    "The gather by the same trees is the scatter with links and time reversed, is carried out, and takes as many steps and "
    "transmissions, all-port and one-port.",
    weight=_rows,
)
def _gather(see: See) -> None:
    for name, ports in _GATHERED:
        for messages in (see.where.n - 1,) if name == "perfectly-balanced" else (1, 2):
            for root in _roots(see)[:2]:
                spec, given = see.where.spec, {"messages": messages}
                there = see.lab.schedule(spec, "scatter", name, ports=ports, root=root, **given)
                back = see.lab.schedule(spec, "gather", name, ports=ports, root=root, **given)
                _reversed(see, there, back, messages)


def _reversed(see: See, there: Schedule, back: Schedule, messages: int) -> None:
    out, home = see.executed(there), see.executed(back)
    place = {"M": messages, "root": see.where.label(back.root), "of": back}
    see.equal("steps", home.steps, out.steps, **place)
    see.equal("transmissions", home.transmissions, out.transmissions, **place)
    turned = (there.steps + 1 - there.step, there.receiver, there.sender, there.unit, there.tree)
    found = np.column_stack((back.step, back.sender, back.receiver, back.unit, back.tree)).astype(
        np.int64
    )
    stated = np.column_stack(turned).astype(np.int64)
    see.equal("rows", len(found), len(stated), **place)
    if len(found) == len(stated):
        found, stated = (rows[np.lexsort(rows.T[::-1])] for rows in (found, stated))
        see.equal(
            "step, sender, receiver, message and tree of each row",
            found,
            stated,
            **place,
            row=lambda row, _: row,
        )
