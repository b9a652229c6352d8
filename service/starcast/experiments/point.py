"""Experiment points: all parameters of one run, checked and in canonical form."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

from starcast.collectives.algorithm import Algorithm, find_algorithm
from starcast.collectives.model import MULTI_SOURCE
from starcast.experiments.faults import canonical_faults
from starcast.support.axes import (
    AXES,
    CENTRE,
    LARGEST,
    POINT_AXES,
    Parameters,
    check_execution,
    read_seed,
)
from starcast.support.errors import InputError
from starcast.support.vocabulary import format_spec, parse_spec
from starcast.topologies import Topology, as_topology
from starcast.topologies.networks import Network, find_network

#: The axes of a grid whose values are arguments of algorithms, such as ``segments``.
ARGUMENT_AXES = tuple(name for name, axis in AXES.items() if axis.is_argument)

#: The type of `Point.structure`: the values of the parameters that determine a schedule and its
#: execution.
PointStructure = tuple[Any, ...]


@dataclass(frozen=True, order=True)
class Point(Parameters):
    """An experiment point: the parameters of one run, in canonical form.

    The class `Parameters` describes the fields, which are checked when a point is created.
    """

    def __post_init__(self) -> None:
        algorithm = self.catalogue_entry
        topology = as_topology(self.topology)
        if self.ports not in algorithm.ports:
            raise InputError(
                f"{algorithm} has no port model '{self.ports}'",
                hint=f"use {' or '.join(algorithm.ports)}",
            )
        check_execution(self.execution)
        self._check_numbers()
        # A point can be written in several ways: with or without default arguments, with faults in
        # another order, or with a seed but no faults. All forms have to be equal, or the point's
        # run would be stored twice.
        object.__setattr__(self, "algorithm", self._normalize_algorithm(topology))
        object.__setattr__(self, "base", self._resolve_arguments().get("base"))
        object.__setattr__(self, "root", self._normalize_root(topology))
        object.__setattr__(self, "faults", canonical_faults(topology, self.faults))
        if not self.faults:
            object.__setattr__(self, "seed", 0)
        takes_messages = algorithm.split_argument == "messages"
        object.__setattr__(self, "messages", self.segments if takes_messages else 1)

    def __getstate__(self) -> tuple[dict[str, Any], Network | None]:
        # The point's network is pickled together with the point, because a worker process knows
        # only the networks that it has unpickled.
        return vars(self), find_network(self.topology)

    def __setstate__(self, state: tuple[dict[str, Any], Network | None]) -> None:
        self.__dict__.update(state[0])

    def _check_numbers(self) -> None:
        for name in POINT_AXES:
            axis, value = AXES[name], getattr(self, name)
            if not isinstance(value, int | Fraction):
                continue
            if max(abs(value.numerator), value.denominator) > LARGEST:
                raise InputError(
                    f"{name} is out of range",
                    hint="use a numerator and a denominator of at most 10^30",
                )
            if value < axis.least:
                raise InputError(
                    f"{name} is {value}, less than {axis.least}",
                    hint=f"use {axis.option} {axis.least} or more",
                )
        if self.t_s == self.t_c == 0:
            raise InputError("t_s and t_c cannot both be 0", hint="use a positive t_s or t_c")
        read_seed(self.seed)

    def _normalize_root(self, topology: Topology) -> str | None:
        if self.root is not None and not has_root(self.collective):
            raise InputError(f"the collective {self.collective} has no root", hint="omit root")
        return stored_root(topology, self.root)

    def _normalize_algorithm(self, topology: Topology) -> str:
        _, own = parse_spec(self.algorithm, "algorithm")
        name = self.catalogue_entry.name
        axis = next((each for each in own if each in ARGUMENT_AXES), None)
        if axis is not None:
            raise InputError(
                f"'{self.algorithm}' cannot have '{axis}' in parentheses",
                hint=f"specify it with `{axis}`",
            )
        if not own:
            return name
        defaults = self.catalogue_entry.default_arguments(topology)
        changed = {key: value for key, value in own.items() if defaults.get(key) != value}
        return format_spec(name, changed)

    def _resolve_arguments(self) -> Mapping[str, int | str]:
        """Return all arguments of the algorithm, including defaults, keyed by name.

        Raises:
            InputError: an axis that the algorithm does not use has another value than its default.
        """
        algorithm = self.catalogue_entry
        given: dict[str, int | str] = {}
        for axis in (axis for axis in ARGUMENT_AXES if axis in POINT_AXES):
            value = getattr(self, axis)
            name = algorithm.split_argument if axis == "segments" else axis
            if name not in algorithm.argument_names:
                if value != (1 if axis == "segments" else AXES[axis].usual):
                    title = "'segments' or 'messages'" if axis == "segments" else f"'{axis}'"
                    raise InputError(
                        f"{algorithm} has no argument {title}", hint="omit this parameter"
                    )
            elif value is not None:
                given[name] = value
        name, own = parse_spec(self.algorithm, "algorithm")
        values = tuple({**own, **given}.items())
        return _with_defaults(self.topology, self.collective, name, values)

    @classmethod
    def of(cls, run: object) -> Self:
        """Return the point of a run without checking it.

        The point was checked when the run was executed. A second check would fail if the plug-in
        that defines the algorithm of a stored run is not loaded.
        """
        point = object.__new__(cls)
        for axis in AXES:
            value = getattr(run, axis)
            object.__setattr__(point, axis, tuple(value) if axis == "faults" else value)
        return point

    @property
    def catalogue_entry(self) -> Algorithm:
        """The point's algorithm, as declared in the catalogue of algorithms."""
        name, _ = parse_spec(self.algorithm, "algorithm")
        return find_algorithm(self.collective, name, as_topology(self.topology))

    @property
    def arguments(self) -> dict[str, int | str]:
        """All arguments of the algorithm with which the schedule is built, including defaults."""
        return dict(self._resolve_arguments())

    @property
    def root_rank(self) -> int:
        """The rank of the root; 0 for collectives without a root."""
        return find_root(as_topology(self.topology), self.root)

    @property
    def structure(self) -> PointStructure:
        """The values that determine the schedule and its execution.

        Points that differ only in message_bytes, t_s, t_c and seed have the same structure if the
        execution is synchronous and all links have capacity 1 and latency 0. Otherwise
        message_bytes, t_s and t_c determine which packets wait, or which packet of a step takes the
        longest, so all parameters are part of the structure.
        """
        network = find_network(self.topology)
        has_equal_links = network is None or network.has_equal_links
        is_stepwise = self.execution == "synchronous" and has_equal_links
        return tuple(
            getattr(self, name)
            for name in POINT_AXES
            if AXES[name].is_structural or not is_stepwise
        )

    def command(self) -> str:
        """Return the command line that executes this point; it lists the faults, not their seed."""
        split = "messages" if self.messages > 1 else "segments"
        values = {name: getattr(self, name) for name in POINT_AXES if name != "seed"}
        words = [str(values.pop(name)) for name in ("topology", "collective", "algorithm")]
        for name, value in values.items():
            if AXES[name].is_usual(value) or (name == "segments" and value == 1):
                continue
            words.append(f"--{split}" if name == "segments" else AXES[name].option)
            words.append(" ".join(value) if isinstance(value, tuple) else str(value))
        return f"starcast run once {shlex.join(words)}"


def has_root(collective: str) -> bool:
    """Return whether runs of a collective have a root."""
    return collective not in MULTI_SOURCE


def stored_root(topology: Topology, root: str | None) -> str | None:
    """Return the form in which runs store a root: None for rank 0, `CENTRE`, a label, or ``#RANK``.

    Args:
        topology: the topology.
        root: a label, ``#6`` for rank 6, the word ``centre``, or None for rank 0.

    Raises:
        InputError: ``root`` is not a node of the topology, or is a switch.
    """
    if root in {None, CENTRE}:
        return root
    rank = find_root(topology, root)
    label = topology.label(rank)
    # A node with the label "centre" is stored by its rank, to distinguish the label from the word
    # `CENTRE`.
    return (f"#{rank}" if label == CENTRE else label) if rank else None


def find_root(topology: Topology, root: str | None) -> int:
    """Return the rank of the node that a run names as its root.

    Args:
        topology: the topology.
        root: a label, ``#6`` for rank 6, the word ``centre``, or None for rank 0.

    Raises:
        InputError: ``root`` is not a node of the topology, or is a switch.
        LimitError: ``root`` is `CENTRE`, and finding the centre takes too many searches.
    """
    if root is None:
        return 0
    if root == CENTRE:
        return topology.centre()
    try:
        node = topology.node(root)
    except InputError as error:
        raise InputError(
            f"the root '{root}' is not valid on {topology.spec}: {error.message}", hint=error.hint
        ) from None
    if node >= topology.endpoints:
        raise InputError(
            f"the root '{root}' of {topology.spec} is a switch, which has no messages of its own",
            hint=f"use an endpoint, such as {topology.label(0)}",
        )
    return node


@lru_cache(maxsize=4096)
def _with_defaults(
    spec: str, collective: str, algorithm: str, given: tuple[tuple[str, int | str], ...]
) -> Mapping[str, int | str]:
    topology = as_topology(spec)
    entry = find_algorithm(collective, algorithm, topology)
    return entry.resolve_arguments(topology, dict(given))
