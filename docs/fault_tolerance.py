"""Compute the table of fault-tolerance.md, about two variants of an allgather under faults.

The allgather uses edge-disjoint trees. In the first variant, each message is sent in a fixed step.
In the second variant, nodes wait for acknowledgements.
"""

from collections.abc import Iterator
from pathlib import Path

from marked import fill_tables, head, row

from starcast.collectives import schedule
from starcast.judges.simulator import Fault, simulate, simulate_acknowledged
from starcast.topologies import Topology, topology

PAGE = Path(__file__).parent / "fault-tolerance.md"
SPEC = "S4"

Faults = tuple[Fault, ...]


def page() -> str:
    """Return the text of fault-tolerance.md with a newly computed table."""
    return fill_tables(PAGE, Path(__file__).name, {"waiting": waiting})


def waiting() -> Iterator[str]:
    """Yield the lines of the table, with a row for each kind of fault set.

    A row has the number of sets that each variant survives, and the number of units that are
    missing in the variant with acknowledgements.
    """
    allgather = schedule(SPEC, "allgather", "edge-disjoint", copies=topology(SPEC).degree)
    yield from head(
        "faults", "sets", "survived, driven by steps", "survived, waiting", "missing, waiting"
    )
    for kind, sets in fault_sets(topology(SPEC)).items():
        steady = sum(simulate(allgather, faults).complete for faults in sets)
        missing = [simulate_acknowledged(allgather, faults).simulation.missing for faults in sets]
        least = min(missing)
        most = max(missing)
        text = str(least) if least == most else f"{least} to {most}"
        yield row(kind, len(sets), steady, missing.count(0), text)


def fault_sets(topology: Topology) -> dict[str, list[Faults]]:
    """Return sets of one or two faults, by kind.

    The first fault of each kind is always the same. By symmetry, other first faults would give the
    same results.
    """
    node = Fault(0)
    others = [Fault(rank) for rank in range(1, topology.nodes)]
    links = [
        Fault((rank, neighbour))
        for port in topology.ports
        for rank, neighbour in enumerate(topology.neighbours(port).tolist())
        if rank < neighbour
    ]
    first, *other_links = links
    return {
        "one link": [(first,)],
        "one node": [(node,)],
        "two links": [(first, link) for link in other_links],
        "two nodes": [(node, other) for other in others],
        "a node and a link": [(node, link) for link in links],
    }
