"""Fragopoulou & Akl, edge-disjoint spanning trees, sections 4.1 and 4.2: broadcasting M messages."""

from fractions import Fraction
from functools import partial
from math import factorial

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter
from starcast.claims.reference import bfs
from starcast.claims.reference.place_labels import outgoing_links
from starcast.claims.registry import check
from starcast.collectives.broadcast import build_pipeline
from starcast.collectives.model import Schedule
from starcast.simulator import Simulation
from starcast.support.integers import ceil_div
from starcast.trees.model import Forest

#: The catalogue's shortest-path trees that span.
_SHORTEST = ("greedy", "necklace", "balanced", "near-balanced")


def _messages(n: int) -> range:
    """Numbers of messages: fewer than there are trees, as many, and more, dividing n-1 or not."""
    return range(1, 2 * n + 1)


def _broadcast(
    check: ClaimCheck, messages: int, copies: int = 1, root: int = 0
) -> tuple[Schedule, Simulation]:
    """The broadcast of section 4.2, carried out."""
    made = check.objects.schedule(
        check.topology.spec,
        "broadcast",
        "edge-disjoint",
        root=root,
        messages=messages,
        copies=copies,
    )
    return made, check.execute(made)


def _single(check: ClaimCheck, messages: int) -> tuple[Schedule, Simulation]:
    """The messages one after the other down one shortest-path tree, carried out."""
    made = check.objects.schedule(check.topology.spec, "broadcast", "greedy", segments=messages)
    return made, check.execute(made)


# One tree


@check("EDT.S41-pipe")
def _pipelined(check: ClaimCheck) -> None:
    n = check.topology.n
    for messages in (1, 2, 3, n - 1, 2 * n):
        for tree in _trees(check):
            key = (check.topology.spec, "pipelined", tree.id, tree.construction, messages)
            made = check.objects.get_or_create("schedule", key, partial(_line, tree, messages))
            steps = check.execute(made).steps
            check.equal(
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


def _trees(check: ClaimCheck) -> list[Forest]:
    """Shortest-path trees: from the catalogue, and drawn at random."""
    topology = check.topology
    roots = bfs.roots(topology)
    found = [
        check.objects.forest(topology.spec, "greedy", root=root) for root in (*roots[:3], roots[-1])
    ]
    found += [check.objects.forest(topology.spec, name) for name in _SHORTEST[1:]]
    for seed in range(3):
        row = check.objects.array(
            f"shortest-path tree {seed}", topology.spec, partial(_drawn, check, seed)
        )
        found.append(Forest(topology, row[None], 0, f"random-{seed}", spanning=False))
    return found


def _drawn(check: ClaimCheck, seed: int) -> NDArray[np.uint8]:
    """A port toward the identity for every node, drawn from all those that lead closer, uint8 ``[nodes]``."""
    distance, across = (
        bfs.distances(check.objects, check.topology.spec),
        check.objects.neighbours(check.topology.spec),
    )
    weight = np.random.default_rng([seed, check.topology.n]).random(across.shape)
    row: NDArray[np.uint8] = (np.argmax(weight * (distance[across] < distance), axis=0) + 2).astype(
        np.uint8
    )
    row[0] = 0
    return row


# Bounds, and the time of section 4.2


def _least_steps(check: ClaimCheck) -> tuple[NDArray[np.int64], list[str]]:
    """The fewest steps in which the house broadcasts M unit messages, M = 1, 2, .., and by which algorithm.

    All algorithms of the all-port model that send one unit over a link in a step.
    """
    spec, found, names = check.topology.spec, [], []
    for messages in _messages(check.topology.n):
        made = {
            "greedy": check.objects.schedule(spec, "broadcast", "greedy", segments=messages),
            "recursive-substar": check.objects.schedule(
                spec, "broadcast", "recursive-substar", messages=messages
            ),
            "edge-disjoint": check.objects.schedule(
                spec, "broadcast", "edge-disjoint", messages=messages, copies=1
            ),
        }
        steps = {name: check.execute(schedule).steps for name, schedule in made.items()}
        best = min(steps, key=lambda name: steps[name])
        found.append(steps[best])
        names.append(best)
    return np.array(found), names


@check("EDT.S42-bound")
def _bound(check: ClaimCheck) -> None:
    n = check.topology.n
    messages = np.array(_messages(n))
    rounds = np.array([ceil_div(int(each), n - 1) for each in messages])
    least, names = _least_steps(check)
    place = {"M": messages, "algorithm": np.array(names)}
    check.at_least("steps", least, rounds + diameter(n), **place)
    instead = check.correction(
        "ceil(M/(n-1)) + D_n - 1 is a bound, which one shortest-path tree meets for M = 1"
    )
    instead.at_least("steps", least, rounds + diameter(n) - 1, **place)
    instead.equal("steps for M = 1", least[0], diameter(n))
    other = check.reading("with - 1, as in section 4.1 and Table 1")
    other.at_least("steps", least, rounds + diameter(n) - 1, **place)


@check("EDT.SNB.steps")
def _steps(check: ClaimCheck) -> None:
    n = check.topology.n
    for messages in _messages(n):
        made, took = _broadcast(check, messages)
        check.at_most(
            "steps", took.steps, ceil_div(messages, n - 1) + diameter(n) + 3, M=messages, of=made
        )
    for root in bfs.roots(check.topology):
        made, took = _broadcast(check, n, root=root)
        check.at_most(
            "steps",
            took.steps,
            ceil_div(n, n - 1) + diameter(n) + 3,
            M=n,
            root=check.topology.label(root),
            of=made,
        )


@check("EDT.SNB.transmissions")
def _transmissions(check: ClaimCheck) -> None:
    for messages in _messages(check.topology.n):
        made, took = _broadcast(check, messages)
        stated = messages * (factorial(check.topology.n) - 1)
        check.equal("transmissions", took.transmissions, stated, M=messages, of=made)


@check("EDT.SNB.speedup")
def _speedup(check: ClaimCheck) -> None:
    n = check.topology.n
    more = n - 1
    for messages in range(1, 2 * n):
        single = _single(check, messages + more)[1].steps - _single(check, messages)[1].steps
        made, after = _broadcast(check, messages + more)
        several = after.steps - _broadcast(check, messages)[1].steps
        limit = Fraction(single, several) if several else Fraction(0)
        check.equal(
            "limit of the quotient of the steps", limit, Fraction(n - 1), M=messages, of=made
        )


def _used(check: ClaimCheck, messages: int) -> tuple[Schedule, NDArray[np.bool_]]:
    """Whether each directed link carries a message, bool ``[nodes, ports]``."""
    made, _ = _broadcast(check, messages)
    used = np.zeros((check.topology.nodes, check.topology.degree), dtype=bool)
    used[made.sender, made.port.astype(np.int64) - 2] = True
    return made, used


@check("EDT.SNB.links")
def _directed(check: ClaimCheck) -> None:
    topology, across = check.topology, check.objects.neighbours(check.topology.spec)
    instead = check.correction("it sends over every directed link but the n-1 into the source")
    for messages in range(topology.n - 1, 2 * topology.n):
        made, used = _used(check, messages)
        links = outgoing_links(check.objects, topology)
        check.true(
            "whether the directed link carries a message", used, M=messages, link=links, of=made
        )
        instead.equal(
            "whether the directed link carries a message",
            used,
            across.T != 0,
            M=messages,
            link=links,
        )
        stated = (topology.n - 1) * (factorial(topology.n) - 1)
        instead.equal(
            "directed links that carry a message", np.count_nonzero(used), stated, M=messages
        )


@check("EDT.SNB-links-undirected")
def _undirected(check: ClaimCheck) -> None:
    topology, across = check.topology, check.objects.neighbours(check.topology.spec)
    for messages in range(topology.n - 1, 2 * topology.n):
        made, used = _used(check, messages)
        back = np.stack([used[there, port] for port, there in enumerate(across)], axis=1)
        check.true(
            "whether the link carries a message",
            used | back,
            M=messages,
            link=outgoing_links(check.objects, topology),
            of=made,
        )
        count = np.count_nonzero(used | back)
        check.equal(
            "links that carry a message, each from both ends",
            count,
            factorial(topology.n) * (topology.n - 1),
            M=messages,
        )


@check("EDT.concl-optimal")
def _optimal(check: ClaimCheck) -> None:
    n = check.topology.n
    instead = check.correction(
        "it takes ceil(M/(n-1)) + D_n + 1 steps for odd n, one more for even n: 2 or 3 above the bound"
    )
    for messages in _messages(n):
        made, took = _broadcast(check, messages)
        rounds = ceil_div(messages, n - 1)
        check.at_most("steps", took.steps, rounds + diameter(n) - 1, M=messages, of=made)
        instead.equal("steps", took.steps, rounds + diameter(n) + (1 if n % 2 else 2), M=messages)
