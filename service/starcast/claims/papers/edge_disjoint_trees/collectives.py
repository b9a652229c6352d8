"""The collectives of the paper, M messages in x copies, executed."""

from dataclasses import dataclass

from starcast.claims.check import ClaimCheck
from starcast.collectives.model import Schedule
from starcast.simulator import Simulation


@dataclass(frozen=True)
class ExecutedCollective:
    """A schedule along EDT with its simulation, M (`messages`) and x (`copies`)."""

    schedule: Schedule
    simulation: Simulation
    messages: int
    copies: int


def execute_collective(
    check: ClaimCheck, collective: str, messages: int, copies: int, root: int = 0
) -> ExecutedCollective:
    """Return an executed collective, and record that it is carried out."""
    schedule = check.schedule(
        collective, "edge-disjoint", root=root, messages=messages, copies=copies
    )
    return ExecutedCollective(schedule, check.execute(schedule), messages, copies)
