"""Algorithms from shipped records: what a search has proven to be the best possible.

A record is rooted at the identity; its translations serve other roots.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from numpy.typing import NDArray

from starcast.collectives.algorithm import Messages, algorithm
from starcast.collectives.broadcast import build_rounds
from starcast.collectives.model import Schedule, build_schedule
from starcast.collectives.rows import concatenate_rows
from starcast.collectives.yardsticks import rotate_messages
from starcast.support.vocabulary import Ports
from starcast.topologies import Topology

_FAMILIES = ("star", "nk-star", "hypercube")
_BROADCAST, _CYCLES = "one-port-broadcast", "hamiltonian-decomposition"


def _witness(problem: str, topology: Topology) -> Mapping[str, NDArray[Any]]:
    # Imported only here, as below: records load pydantic.
    from starcast.records import shipped_record  # noqa: PLC0415

    return shipped_record(problem, topology.spec).witness


def _missing_reason(problem: str, topology: Topology) -> str | None:
    from starcast.records.files import missing_reason  # noqa: PLC0415

    return missing_reason(problem, topology.spec, optimal=True)


@algorithm(
    "broadcast", "optimal", families=_FAMILIES, ports=["one"],
    source="starcast: records of one-port-broadcast",
    exclusion=partial(_missing_reason, _BROADCAST),
)  # fmt: skip
def _build_broadcast(topology: Topology, root: int, ports: Ports) -> Schedule:  # noqa: ARG001 - one-port only
    """Inform each node in the round of the record."""
    witness = _witness(_BROADCAST, topology)
    return build_rounds(topology, witness["parent_port"], witness["round"], root, "optimal")


@algorithm(
    "allgather", "hamiltonian-decomposition", families=_FAMILIES,
    source="starcast: records of hamiltonian-decomposition",
    exclusion=partial(_missing_reason, _CYCLES), sources=lambda topology, _ports: topology.nodes,
)  # fmt: skip
def _build_allgather(topology: Topology, root: int, ports: Ports, messages: Messages) -> Schedule:  # noqa: ARG001 - all sources are written out
    """Send each message both ways round a cycle, half of the nodes each way.

    With C cycles, message i takes cycle i mod C. The messages of a cycle follow each other, and the
    longer half of N - 1 hops alternates between the directions. The k messages of a cycle take
    ceil(k (N - 1) / 2) steps; for even degree 2C and messages divisible by C this is the lower
    bound, since all links of all nodes are busy in every step.
    """
    paths = _witness(_CYCLES, topology)["ports"]
    parts = [
        rows
        for number, path in enumerate(paths)
        for rows in rotate_messages(topology, path, range(number, messages, len(paths)), messages)
    ]
    return build_schedule(
        concatenate_rows(parts),
        topology=topology,
        collective="allgather",
        algorithm=_CYCLES,
        ports=ports,
        arguments={"messages": messages},
        units=messages * topology.nodes,
        packets=False,
        root=0,
    )
