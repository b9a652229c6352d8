"""Fragopoulou & Akl, edge-disjoint spanning trees, sections 4.1 and 4.2: broadcasting M messages."""

from fractions import Fraction
from functools import partial
from math import factorial

import numpy as np
from numpy.typing import NDArray

from starcast.claims.declaration import Family, stars
from starcast.claims.formulas import diameter
from starcast.claims.instruments import searching
from starcast.claims.instruments.naming import leaving
from starcast.claims.see import See
from starcast.collectives.broadcast import build_pipeline
from starcast.collectives.model import Schedule
from starcast.simulator import Simulation
from starcast.support.integers import ceil_div
from starcast.trees.model import Forest

FAMILY = Family("edge_disjoint_broadcast")
claim = FAMILY.claim

#: The catalogue's shortest-path trees that span.
_SHORTEST = ("greedy", "necklace", "balanced", "near-balanced")


def _messages(n: int) -> range:
    """Numbers of messages: fewer than there are trees, as many, and more, dividing n-1 or not."""
    return range(1, 2 * n + 1)


def _broadcast(
    see: See, messages: int, copies: int = 1, root: int = 0
) -> tuple[Schedule, Simulation]:
    """The broadcast of section 4.2, carried out."""
    made = see.lab.schedule(
        see.where.spec, "broadcast", "edge-disjoint", root=root, messages=messages, copies=copies
    )
    return made, see.executed(made)


def _single(see: See, messages: int) -> tuple[Schedule, Simulation]:
    """The messages one after the other down one shortest-path tree, carried out."""
    made = see.lab.schedule(see.where.spec, "broadcast", "greedy", segments=messages)
    return made, see.executed(made)


# One tree


@claim(
    "EDT.S41-pipe",
    "Section 4.1",
    stars(6, 7, 7),
    "M unit messages, pipelined all-port along one shortest-path tree (depth D_n), take M + D_n - 1 steps: trees of the "
    "catalogue and trees drawn at random, several roots.",
    reading="The formula is lost in our copy. The time of a pipeline of that depth is looked at.",
)
def _pipelined(see: See) -> None:
    n = see.where.n
    for messages in (1, 2, 3, n - 1, 2 * n):
        for tree in _trees(see):
            key = (see.where.spec, "pipelined", tree.id, tree.construction, messages)
            made = see.lab.keep("schedule", key, partial(_line, tree, messages))
            steps = see.executed(made).steps
            see.equal(
                "steps",
                steps,
                messages + diameter(n) - 1,
                M=messages,
                tree=tree.construction,
                of=made,
            )


def _line(tree: Forest, messages: int) -> Schedule:
    return build_pipeline(
        tree, "all", messages, algorithm=tree.construction, arguments={"segments": messages}
    )


def _trees(see: See) -> list[Forest]:
    """Shortest-path trees: from the catalogue, and drawn at random."""
    where = see.where
    roots = searching.roots(where)
    found = [see.lab.forest(where.spec, "greedy", root=root) for root in (*roots[:3], roots[-1])]
    found += [see.lab.forest(where.spec, name) for name in _SHORTEST[1:]]
    for seed in range(3):
        row = see.lab.array(f"shortest-path tree {seed}", where.spec, partial(_drawn, see, seed))
        found.append(Forest(where, row[None], 0, f"random-{seed}", spanning=False))
    return found


def _drawn(see: See, seed: int) -> NDArray[np.uint8]:
    """A port toward the identity for every node, drawn from all those that lead closer, uint8 ``[nodes]``."""
    distance, across = (
        searching.distances(see.lab, see.where.spec),
        see.lab.neighbours(see.where.spec),
    )
    weight = np.random.default_rng([seed, see.where.n]).random(across.shape)
    row: NDArray[np.uint8] = (np.argmax(weight * (distance[across] < distance), axis=0) + 2).astype(
        np.uint8
    )
    row[0] = 0
    return row


# Bounds, and the time of section 4.2


def _least_steps(see: See) -> tuple[NDArray[np.int64], list[str]]:
    """The fewest steps in which the house broadcasts M unit messages, M = 1, 2, .., and by which algorithm.

    All algorithms of the all-port model that send one unit over a link in a step.
    """
    spec, found, names = see.where.spec, [], []
    for messages in _messages(see.where.n):
        made = {
            "greedy": see.lab.schedule(spec, "broadcast", "greedy", segments=messages),
            "recursive-substar": see.lab.schedule(
                spec, "broadcast", "recursive-substar", messages=messages
            ),
            "edge-disjoint": see.lab.schedule(
                spec, "broadcast", "edge-disjoint", messages=messages, copies=1
            ),
        }
        steps = {name: see.executed(schedule).steps for name, schedule in made.items()}
        best = min(steps, key=lambda name: steps[name])
        found.append(steps[best])
        names.append(best)
    return np.array(found), names


@claim(
    "EDT.S42-bound",
    "Section 4.2",
    stars(6, 6, 7),
    "No all-port broadcast of M unit messages takes fewer than ceil(M/(n-1)) + D_n steps.",
    reading="Section 4.2 as far as it can be read in our copy; section 4.1 and Table 1 have the bound less one.",
)
def _bound(see: See) -> None:
    n = see.where.n
    messages = np.array(_messages(n))
    rounds = np.array([ceil_div(int(each), n - 1) for each in messages])
    least, names = _least_steps(see)
    place = {"M": messages, "algorithm": np.array(names)}
    see.at_least("steps", least, rounds + diameter(n), **place)
    instead = see.instead(
        "ceil(M/(n-1)) + D_n - 1 is a bound, which one shortest-path tree meets for M = 1"
    )
    instead.at_least("steps", least, rounds + diameter(n) - 1, **place)
    instead.equal("steps for M = 1", least[0], diameter(n))
    other = see.reading("with - 1, as in section 4.1 and Table 1")
    other.at_least("steps", least, rounds + diameter(n) - 1, **place)


@claim(
    "EDT.SNB.steps",
    "Section 4.2",
    stars(6, 7, 7),
    "`edge-disjoint` broadcast of M messages, one copy, takes at most ceil(M/(n-1)) + D_n + 3 steps.",
)
def _steps(see: See) -> None:
    n = see.where.n
    for messages in _messages(n):
        made, took = _broadcast(see, messages)
        see.at_most(
            "steps", took.steps, ceil_div(messages, n - 1) + diameter(n) + 3, M=messages, of=made
        )
    for root in searching.roots(see.where):
        made, took = _broadcast(see, n, root=root)
        see.at_most(
            "steps",
            took.steps,
            ceil_div(n, n - 1) + diameter(n) + 3,
            M=n,
            root=see.where.label(root),
            of=made,
        )


@claim(
    "EDT.SNB.transmissions",
    "Section 4.2",
    stars(6, 7, 7),
    "`edge-disjoint` broadcast of M messages, one copy, takes M(n!-1) transmissions.",
)
def _transmissions(see: See) -> None:
    for messages in _messages(see.where.n):
        made, took = _broadcast(see, messages)
        stated = messages * (factorial(see.where.n) - 1)
        see.equal("transmissions", took.transmissions, stated, M=messages, of=made)


@claim(
    "EDT.SNB.speedup",
    "Section 4.2",
    stars(6, 7, 7),
    "For M to infinity, the steps of one pipelined shortest-path tree divided by those of `edge-disjoint` go to n-1: n-1 more "
    "messages take n-1 more steps on the one, one more step on the other, whatever M.",
)
def _speedup(see: See) -> None:
    n = see.where.n
    more = n - 1
    for messages in range(1, 2 * n):
        single = _single(see, messages + more)[1].steps - _single(see, messages)[1].steps
        made, after = _broadcast(see, messages + more)
        several = after.steps - _broadcast(see, messages)[1].steps
        limit = Fraction(single, several) if several else Fraction(0)
        see.equal("limit of the quotient of the steps", limit, Fraction(n - 1), M=messages, of=made)


def _used(see: See, messages: int) -> tuple[Schedule, NDArray[np.bool_]]:
    """Whether each directed link carries a message, bool ``[nodes, ports]``."""
    made, _ = _broadcast(see, messages)
    used = np.zeros((see.where.nodes, see.where.degree), dtype=bool)
    used[made.sender, made.port.astype(np.int64) - 2] = True
    return made, used


@claim(
    "EDT.SNB.links",
    "Section 4.2",
    stars(6, 7, 7),
    "For M = n-1, n, .. the broadcast of M messages sends over every directed link x -> g_d(x).",
)
def _directed(see: See) -> None:
    where, across = see.where, see.lab.neighbours(see.where.spec)
    instead = see.instead("it sends over every directed link but the n-1 into the source")
    for messages in range(where.n - 1, 2 * where.n):
        made, used = _used(see, messages)
        links = leaving(see.lab, where)
        see.true(
            "whether the directed link carries a message", used, M=messages, link=links, of=made
        )
        instead.equal(
            "whether the directed link carries a message",
            used,
            across.T != 0,
            M=messages,
            link=links,
        )
        stated = (where.n - 1) * (factorial(where.n) - 1)
        instead.equal(
            "directed links that carry a message", np.count_nonzero(used), stated, M=messages
        )


@claim(
    "EDT.SNB-links-undirected",
    "Section 4.2",
    stars(6, 7, 7),
    "For M = n-1, n, .. the broadcast of M messages sends over x -> g_d(x) or g_d(x) -> x, for every link.",
)
def _undirected(see: See) -> None:
    where, across = see.where, see.lab.neighbours(see.where.spec)
    for messages in range(where.n - 1, 2 * where.n):
        made, used = _used(see, messages)
        back = np.stack([used[there, port] for port, there in enumerate(across)], axis=1)
        see.true(
            "whether the link carries a message",
            used | back,
            M=messages,
            link=leaving(see.lab, where),
            of=made,
        )
        count = np.count_nonzero(used | back)
        see.equal(
            "links that carry a message, each from both ends",
            count,
            factorial(where.n) * (where.n - 1),
            M=messages,
        )


@claim(
    "EDT.concl-optimal",
    "Section 5",
    stars(6, 7, 7),
    "`edge-disjoint` broadcast of M messages, one copy, takes at most ceil(M/(n-1)) + D_n - 1 steps.",
)
def _optimal(see: See) -> None:
    n = see.where.n
    instead = see.instead(
        "it takes ceil(M/(n-1)) + D_n + 1 steps for odd n, one more for even n: 2 or 3 above the bound"
    )
    for messages in _messages(n):
        made, took = _broadcast(see, messages)
        rounds = ceil_div(messages, n - 1)
        see.at_most("steps", took.steps, rounds + diameter(n) - 1, M=messages, of=made)
        instead.equal("steps", took.steps, rounds + diameter(n) + (1 if n % 2 else 2), M=messages)
