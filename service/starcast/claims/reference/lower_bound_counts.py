"""What the arguments for lower bounds count, by search, and the schedules of unit messages that are held against the bounds.

A bound is a count divided by what can move in a step. The counts here come from the table of neighbours alone.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.object_cache import ObjectCache
from starcast.claims.reference import bfs
from starcast.claims.reference.star_labels import rotation
from starcast.collectives.schedule import Schedule


class Counted(NamedTuple):
    """What is counted from one node, which stands for all of them.

    Attributes:
        others: nodes that are not the node itself.
        links: of the node.
        far: the distance of the farthest node.
        total: the sum of all distances.
    """

    others: int
    links: int
    far: int
    total: int

    @property
    def nodes(self) -> int:
        """All of them."""
        return self.others + 1


def counted(check: ClaimCheck, spec: str = "", degree: int = 0) -> Counted:
    """The counts of a topology, by breadth-first search; every node has as many links as there are ports, and gets as many.

    Args:
        check: records that all nodes have the degree, and the same distances as the identity.
        spec: the topology; that of the check if it is not said.
        degree: how many links a node has by the papers; the ports of the table if it is not said.
    """
    topology = check.objects.topology(spec) if spec else check.topology
    table = check.objects.neighbours(topology.spec)
    into = np.bincount(table.ravel(), minlength=topology.nodes)
    check.equal(
        f"links into every node of {topology.spec}", into, degree or len(table), node=topology.label
    )
    profile = bfs.profile(check.objects, topology.spec)
    for root in bfs.roots(topology, 3)[1:3]:
        same = bool(np.array_equal(bfs.profile(check.objects, topology.spec, root), profile))
        check.true(
            f"nodes at each distance of {topology.spec} are as many as from the identity",
            same,
            node=topology.label(root),
        )
    far = len(profile) - 1
    total = int(profile @ np.arange(far + 1))
    return Counted(int(profile.sum()) - 1, len(table), far, total)


#: The schedules of unit messages, one a link and step, on star graphs: collective, port model, algorithm, what it is given.
_ON_STARS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("broadcast", "all", "greedy", ("segments",)),
    ("broadcast", "all", "recursive-substar", ("messages",)),
    ("broadcast", "all", "edge-disjoint", ("messages", "copies")),
    ("allgather", "one", "hamiltonian-cycle", ("messages",)),
    ("allgather", "all", "rotated-hamiltonian", ("messages",)),
    ("allgather", "all", "necklace", ("messages",)),
    ("allgather", "all", "edge-disjoint", ("messages", "copies")),
    ("scatter", "one", "one-port", ("messages",)),
    ("scatter", "all", "balanced", ("messages",)),
    ("scatter", "all", "near-balanced", ("messages",)),
    ("scatter", "all", "perfectly-balanced", ("messages",)),
    ("scatter", "all", "edge-disjoint", ("messages", "copies")),
    ("alltoall", "one", "one-port", ("messages",)),
    ("alltoall", "all", "necklace", ()),
    ("alltoall", "all", "perfectly-balanced", ("messages",)),
    ("alltoall", "all", "exact", ("messages",)),
    ("alltoall", "all", "edge-disjoint", ("messages", "copies")),
)
_DEALT = "perfectly-balanced"  # deals messages to n-1 >= 2 trees alike: M is a multiple of n-1
_ROOTED = ("broadcast", "scatter")


def on_stars(
    check: ClaimCheck, collective: str, ports: str = "all", messages: int = 1, copies: int = 1
) -> Iterator[Schedule]:
    """All schedules of the house that do this with unit messages; under all-port those of one port are among them.

    Of what has a root, from two of them.
    """
    degree = check.topology.degree
    for kind, model, algorithm, names in _ON_STARS:
        if kind != collective or (ports == "one" and model != "one"):
            continue
        if (
            (copies > 1 and "copies" not in names)
            or (messages > 1 and not names)
            or (algorithm == _DEALT and (messages % degree or degree < 2))
        ):
            continue
        given = {"segments": messages, "messages": messages, "copies": copies}
        for root in (0, check.topology.nodes - 1) if collective in _ROOTED else (0,):
            arguments = {name: given[name] for name in names}
            yield check.objects.schedule(
                check.topology.spec, collective, algorithm, ports=model, root=root, **arguments
            )


def not_beaten(
    check: ClaimCheck,
    schedules: Iterable[Schedule],
    stated: int | Fraction,
    what: str,
    **place: int,
) -> None:
    """No schedule takes less than stated: steps, or transmissions; with x among the places, all deliver x copies."""
    for schedule in schedules:
        took = check.execute(schedule)
        if "x" in place:
            check.true(
                f"{schedule.algorithm} delivers x copies",
                copied(schedule, place["x"]),
                **place,
                of=schedule,
            )
        found = took.steps if what == "steps" else took.transmissions
        check.at_least(f"{what} of {schedule.algorithm}", found, stated, **place, of=schedule)


def copied(schedule: Schedule, copies: int) -> bool:
    """Whether everybody is reached that often by every message that is for them."""
    nodes, units = schedule.topology.nodes, schedule.units
    if schedule.collective in ("broadcast", "allgather"):
        place = schedule.receiver.astype(np.int64) * units + schedule.payload
        reached = np.bincount(place, minlength=nodes * units).reshape(nodes, units)
    else:
        arrived = schedule.payload[schedule.receiver == schedule.payload // (units // nodes)]
        reached = np.bincount(arrived, minlength=units).reshape(nodes, -1)
    return bool((np.delete(reached, schedule.root, axis=0) >= copies).all())


# Necklaces of S_n


def necklaces(objects: ObjectCache, spec: str) -> NDArray[np.int32]:
    """The least rank in every node's necklace, int32 ``[n!]``: the orbits of R by turning all nodes n-2 times."""

    def made() -> NDArray[np.int32]:
        topology = objects.topology(spec)
        turn = rotation(objects, topology)
        least = at = np.arange(topology.nodes, dtype=np.int32)
        for _ in range(topology.n - 2):
            at = turn[at]
            least = np.minimum(least, at)
        return least

    return objects.array("necklaces by turning", spec, made)


def necklace_distances(objects: ObjectCache, spec: str) -> NDArray[np.int32]:
    """The distance of every necklace but the identity's, in the order of their least nodes."""
    leaders = np.unique(necklaces(objects, spec))
    return bfs.distances(objects, spec)[leaders[leaders > 0]]
