"""Counts in the arguments for lower bounds, and the schedules that are compared with the bounds.

A bound is a count divided by what can move in a step. The counts are computed from the neighbour
table alone; the schedules are those of unit messages.
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
from starcast.collectives.model import Schedule


class NodeCounts(NamedTuple):
    """Counts from one node that represents all nodes.

    Attributes:
        others: number of other nodes.
        links: number of links of the node.
        far: distance of the farthest node.
        total: sum of all distances.
    """

    others: int
    links: int
    far: int
    total: int

    @property
    def nodes(self) -> int:
        """Number of all nodes."""
        return self.others + 1


def count_from_node(check: ClaimCheck, spec: str = "", degree: int = 0) -> NodeCounts:
    """Return the counts of a topology, by breadth-first search.

    Args:
        check: records that all nodes have the same degree, and the same distances as the identity.
        spec: the topology (default: that of the check).
        degree: degree stated by the papers (default: the number of ports of the table).
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
    return NodeCounts(int(profile.sum()) - 1, len(table), far, total)


#: Schedules with one unit message per link and step: collective, port model, algorithm, arguments.
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
_DEALT = "perfectly-balanced"  # n-1 >= 2 trees get the same number of messages
_ROOTED = ("broadcast", "scatter")


def unit_schedules_on_star(
    check: ClaimCheck, collective: str, ports: str = "all", messages: int = 1, copies: int = 1
) -> Iterator[Schedule]:
    """Yield all schedules of a collective with unit messages; all-port includes one-port schedules.

    Collectives with a root are executed from two roots.
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


def check_not_beaten(
    check: ClaimCheck,
    schedules: Iterable[Schedule],
    stated: int | Fraction,
    what: str,
    **place: int,
) -> None:
    """Check that no schedule takes fewer steps or transmissions than stated.

    With ``x`` among the places, check also that every schedule delivers x copies.
    """
    for schedule in schedules:
        simulation = check.execute(schedule)
        if "x" in place:
            check.true(
                f"{schedule.algorithm} delivers x copies",
                delivers_copies(schedule, place["x"]),
                **place,
                of=schedule,
            )
        measured = simulation.steps if what == "steps" else simulation.transmissions
        check.at_least(f"{what} of {schedule.algorithm}", measured, stated, **place, of=schedule)


def delivers_copies(schedule: Schedule, copies: int) -> bool:
    """Return whether every message reaches each of its destinations that many times."""
    nodes, units = schedule.topology.nodes, schedule.units
    if schedule.collective in ("broadcast", "allgather"):
        place = schedule.receiver.astype(np.int64) * units + schedule.unit
        reached = np.bincount(place, minlength=nodes * units).reshape(nodes, units)
    else:
        arrived = schedule.unit[schedule.receiver == schedule.unit // (units // nodes)]
        reached = np.bincount(arrived, minlength=units).reshape(nodes, -1)
    return bool((np.delete(reached, schedule.root, axis=0) >= copies).all())


# Necklaces of S_n


def necklaces(objects: ObjectCache, spec: str) -> NDArray[np.int32]:
    """Return the least rank in every node's necklace (its orbit under R), int32 ``[nodes]``."""

    def create() -> NDArray[np.int32]:
        topology = objects.topology(spec)
        turn = rotation(objects, topology)
        least = at = np.arange(topology.nodes, dtype=np.int32)
        for _ in range(topology.n - 2):
            at = turn[at]
            least = np.minimum(least, at)
        return least

    return objects.array("necklaces by turning", spec, create)


def necklace_distances(objects: ObjectCache, spec: str) -> NDArray[np.int32]:
    """Return the distance of every necklace but that of the identity, by their least nodes."""
    leaders = np.unique(necklaces(objects, spec))
    return bfs.distances(objects, spec)[leaders[leaders > 0]]
