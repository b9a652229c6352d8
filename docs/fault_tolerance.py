"""The table of fault-tolerance.md: the allgather along edge-disjoint trees under faults, waiting and driven by steps."""

from collections.abc import Iterator
from pathlib import Path

from marked import filled, head, row

from starcast.collectives import schedule
from starcast.simulator import Fault, simulate_acknowledged, simulate
from starcast.topologies import Topology, topology

PAGE = Path(__file__).parent / "fault-tolerance.md"
SPEC = "S4"

Faults = tuple[Fault, ...]


def page() -> str:
    """The page with its table as it is."""
    return filled(PAGE, Path(__file__).name, {"waiting": waiting})


def waiting() -> Iterator[str]:
    """For each kind of fault set: how many are survived, and what is missing at the least and at the most."""
    made = schedule(SPEC, "allgather", "edge-disjoint", copies=topology(SPEC).degree)
    yield from head(
        "faults", "sets", "survived, driven by steps", "survived, waiting", "missing, waiting"
    )
    for kind, sets in fault_sets(topology(SPEC)).items():
        steady = sum(simulate(made, faults).complete for faults in sets)
        missing = [simulate_acknowledged(made, faults).simulation.missing for faults in sets]
        least, most = min(missing), max(missing)
        spread = str(least) if least == most else f"{least} to {most}"
        yield row(kind, len(sets), steady, missing.count(0), spread)


def fault_sets(topology: Topology) -> dict[str, list[Faults]]:
    """Sets of one and two faults, up to translation and rotation: the first one is fixed."""
    node, others = Fault(0), [Fault(rank) for rank in range(1, topology.nodes)]
    links = [
        Fault((rank, across))
        for port in topology.ports
        for rank, across in enumerate(topology.neighbours(port).tolist())
        if rank < across
    ]
    first, *other_links = links
    return {
        "one link": [(first,)],
        "one node": [(node,)],
        "two links": [(first, link) for link in other_links],
        "two nodes": [(node, other) for other in others],
        "a node and a link": [(node, link) for link in links],
    }
