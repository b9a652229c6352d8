"""The collectives of the paper, M messages in x copies, executed."""

from dataclasses import dataclass
from typing import Any

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

    @property
    def steps(self) -> int:
        """The last step of the execution."""
        return self.simulation.steps

    @property
    def place(self) -> dict[str, Any]:
        """M and the schedule as places of a `ClaimCheck`."""
        return {"M": self.messages, "of": self.schedule}


def execute_collective(
    check: ClaimCheck, collective: str, messages: int, copies: int, root: int = 0
) -> ExecutedCollective:
    """Return an executed collective, and record that it is carried out."""
    schedule = check.schedule(
        collective, "edge-disjoint", root=root, messages=messages, copies=copies
    )
    return ExecutedCollective(schedule, check.execute(schedule), messages, copies)


def check_transmissions(
    check: ClaimCheck, executed: ExecutedCollective, per_message: int, **place: int
) -> None:
    """Check that a collective takes this number of transmissions for each message."""
    stated = executed.messages * per_message
    transmissions = executed.simulation.transmissions
    check.equal("transmissions", transmissions, stated, **executed.place, **place)
