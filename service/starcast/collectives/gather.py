"""Gather: the root receives every other node's messages, by a scatter that runs backwards.

Reference: Fragopoulou & Akl 1993, section 6.
"""

from dataclasses import replace

import starcast.collectives.scatter  # noqa: F401 - declares what is reversed here
from starcast.collectives.algorithm import REGISTRIES
from starcast.collectives.model import Schedule
from starcast.collectives.rows import Columns
from starcast.errors import InputError
from starcast.support.vocabulary import Collective, Ports
from starcast.topologies import Topology

_REVERSED: dict[str, Collective] = {"scatter": "gather", "gather": "scatter"}


def reverse_schedule(schedule: Schedule) -> Schedule:
    """Return the gather that runs a scatter backwards in time and over every link, or vice versa.

    What crosses a link in step t of T crosses the opposite link in step T+1-t, along the same tree
    of the same forest. The unit that the root sends to a node becomes the unit that it receives
    from that node, with the same number.

    Raises:
        InputError: the schedule is of another collective.
    """
    if schedule.collective not in _REVERSED:
        raise InputError(
            f"a schedule of a {schedule.collective} cannot be reversed",
            hint=f"only a {' or a '.join(_REVERSED)} can",
        )
    rows = Columns(
        step=schedule.steps + 1 - schedule.step,
        sender=schedule.receiver,
        port=schedule.topology.reverse_ports()[schedule.port],
        receiver=schedule.sender,
        tree=schedule.tree,
        unit=schedule.unit,
    )
    return schedule.replace_rows(rows, collective=_REVERSED[schedule.collective])


def declare_gather(name: str) -> None:
    """Declare the gather with the arguments, port models, trees and steps of a scatter."""
    scatter = REGISTRIES["scatter"][name]

    def build(topology: Topology, root: int, ports: Ports, **arguments: int | str) -> Schedule:
        return reverse_schedule(scatter.build(topology, root, ports, **arguments))

    REGISTRIES["gather"].register(replace(scatter, collective="gather", build=build))


for _name in ("balanced", "near-balanced", "perfectly-balanced", "one-port"):
    declare_gather(_name)
