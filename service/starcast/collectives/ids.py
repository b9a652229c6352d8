"""Ids of schedules: their parameters, in full and in short."""

from collections.abc import Mapping
from typing import NamedTuple

from starcast.collectives import catalogue
from starcast.collectives.algorithm import Algorithm
from starcast.collectives.model import EXPANDED, Schedule
from starcast.support.errors import InputError
from starcast.support.spec_syntax import normalize_id, parse_arguments, parse_spec
from starcast.topologies import Topology
from starcast.topologies import topology as parse_topology


class ScheduleParameters(NamedTuple):
    """What determines a schedule, before anything is built.

    Attributes:
        algorithm: its algorithm.
        topology: its topology.
        root: rank of the root.
        ports: port model.
        arguments: all arguments of the algorithm.
    """

    algorithm: Algorithm
    topology: Topology
    root: int
    ports: str
    arguments: Mapping[str, int | str]

    @property
    def id(self) -> str:
        """The complete id."""
        return self.algorithm.id(self.topology, self.ports, self.arguments, self.root)

    def count_rows(self) -> int:
        """Return the number of rows, without building the schedule."""
        return self.algorithm.count(self.topology, self.ports, self.arguments)

    def build(self) -> Schedule:
        """Build the schedule; nothing is verified.

        Raises:
            LimitError: it does not fit into memory.
        """
        return catalogue.schedule(
            self.topology,
            self.algorithm.collective,
            self.algorithm.name,
            ports=self.ports,
            root=self.root,
            **self.arguments,
        )


def parse_schedule_id(schedule_id: str) -> ScheduleParameters:
    """Return the parameters in the id of a schedule.

    In short, ``S5:broadcast:multiple(segments=4)`` is the schedule in the default port model at the
    identity.

    Raises:
        InputError: the id has another form, or names something that does not exist.

    Example:
        >>> parse_schedule_id("S4:broadcast:greedy").id
        'S4:broadcast:greedy:all:segments=1:1234'
    """
    parts = normalize_id(schedule_id).split(":") if schedule_id.count(":") == 5 else ()
    if parts:
        spec, collective, name, model, argument_text, root = parts
        ports: str | None = model
        arguments = parse_arguments(argument_text)
    elif schedule_id.count(":") == 2:
        spec, collective, algorithm_text = schedule_id.split(":")
        name, arguments = parse_spec(algorithm_text, "algorithm")
        ports, root = None, EXPANDED
    else:
        raise InputError(
            f"'{schedule_id}' is not the id of a schedule",
            hint="write it as S5:broadcast:multiple:all:segments=4:12345, or in short as"
            " S5:broadcast:multiple(segments=4)",
        )
    topology = parse_topology(spec)
    algorithm = catalogue.find(collective, name)
    catalogue.check_topology(algorithm, topology)
    return ScheduleParameters(
        algorithm,
        topology,
        0 if root == EXPANDED else topology.node(root),
        algorithm.resolve_ports(ports),
        algorithm.resolve_arguments(topology, arguments),
    )
