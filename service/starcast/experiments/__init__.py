"""Experiments: named sets of runs, each of one experiment point; their grids, execution and files.

An experiment point consists of all parameters that determine the figures of one run.
"""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from starcast.collectives.algorithm import Algorithm, check_topology, find_algorithm
from starcast.support.axes import (
    AXES,
    LARGEST,
    NONE,
    POINT_AXES,
    Parameters,
    check_execution,
    drawn_faults,
    read_seed,
)
from starcast.support.errors import InputError
from starcast.support.vocabulary import format_spec, parse_spec
from starcast.topologies import Topology, as_topology

if TYPE_CHECKING:
    from starcast.judges.simulator import Fault

#: Algorithm arguments that are axes of a grid.
ARGUMENT_AXES = tuple(name for name, axis in AXES.items() if axis.is_argument)

#: The values of the parameters that determine a schedule and its execution.
Structure = tuple[Any, ...]


@dataclass(frozen=True, order=True)
class Point(Parameters):
    """The parameters of one run, checked and in canonical form; see `Parameters`."""

    def __post_init__(self) -> None:
        algorithm = self.catalogue_entry
        topology = as_topology(self.topology)
        check_topology(algorithm, topology)
        if self.ports not in algorithm.ports:
            raise InputError(
                f"{algorithm} has no port model '{self.ports}'",
                hint=f"write {' or '.join(algorithm.ports)}",
            )
        check_execution(self.execution)
        self._check_numbers()
        # A point can be written in several ways: with or without default arguments, with faults in
        # another order, or with a seed but no faults. All have to be equal, or its run would be
        # stored twice.
        object.__setattr__(self, "algorithm", self._normalize_algorithm(topology))
        object.__setattr__(self, "base", self._resolve_arguments().get("base"))
        object.__setattr__(self, "faults", canonical_faults(topology, self.faults))
        if not self.faults:
            object.__setattr__(self, "seed", 0)
        takes_messages = algorithm.split_argument == "messages"
        object.__setattr__(self, "messages", self.segments if takes_messages else 1)

    def _check_numbers(self) -> None:
        for name in POINT_AXES:
            axis, value = AXES[name], getattr(self, name)
            if not isinstance(value, int | Fraction):
                continue
            if max(abs(value.numerator), value.denominator) > LARGEST:
                raise InputError(
                    f"{name} is out of range",
                    hint="give a numerator and a denominator of at most 10^30",
                )
            if value < axis.least:
                raise InputError(
                    f"{name} is {value}, less than {axis.least}",
                    hint=f"give {axis.option} {axis.least} or more",
                )
        if self.t_s == self.t_c == 0:
            raise InputError("t_s and t_c cannot both be 0", hint="give a positive t_s or t_c")
        read_seed(self.seed)

    def _normalize_algorithm(self, topology: Topology) -> str:
        name, own = parse_spec(self.algorithm, "algorithm")
        axis = next((each for each in own if each in ARGUMENT_AXES), None)
        if axis is not None:
            raise InputError(
                f"'{self.algorithm}' cannot have '{axis}' in parentheses",
                hint=f"give it as `{axis}`",
            )
        if not own:
            return name
        defaults = self.catalogue_entry.default_arguments(topology)
        changed = {key: value for key, value in own.items() if defaults.get(key) != value}
        return format_spec(name, changed)

    def _resolve_arguments(self) -> Mapping[str, int | str]:
        """Return all arguments of the algorithm, after checking that it uses the given axes."""
        algorithm = self.catalogue_entry
        given: dict[str, int | str] = {}
        for axis in (axis for axis in ARGUMENT_AXES if axis in POINT_AXES):
            value = getattr(self, axis)
            name = algorithm.split_argument if axis == "segments" else axis
            if name not in algorithm.argument_names:
                if value != (1 if axis == "segments" else AXES[axis].usual):
                    title = "segments or messages" if axis == "segments" else axis
                    raise InputError(f"{algorithm} takes no {title}", hint="omit it")
            elif value is not None:
                given[name] = value
        name, own = parse_spec(self.algorithm, "algorithm")
        values = tuple({**own, **given}.items())
        return _with_defaults(self.topology, self.collective, name, values)

    @classmethod
    def of(cls, run: object) -> Self:
        """Return the point of a run, without checking it again.

        The point was checked when it was executed. Without a second check, stored runs can be read
        even if the plug-in that defines their algorithm is not loaded.
        """
        point = object.__new__(cls)
        for axis in AXES:
            value = getattr(run, axis)
            object.__setattr__(point, axis, tuple(value) if axis == "faults" else value)
        return point

    @property
    def catalogue_entry(self) -> Algorithm:
        """The algorithm's entry in the catalogue."""
        return find_algorithm(self.collective, parse_spec(self.algorithm, "algorithm")[0])

    @property
    def arguments(self) -> dict[str, int | str]:
        """All arguments used to build the schedule."""
        return dict(self._resolve_arguments())

    @property
    def structure(self) -> Structure:
        """The values that determine the schedule and its execution.

        Points that differ only in message_bytes, t_s, t_c and seed have the same structure if the
        execution is synchronous. In an asynchronous execution, these numbers determine which
        packets wait, so they are part of the structure.
        """
        is_stepwise = self.execution == "synchronous"
        return tuple(
            getattr(self, name)
            for name in POINT_AXES
            if AXES[name].is_structural or not is_stepwise
        )

    def command(self) -> str:
        """Return the command line that runs this point; faults are given by labels, not by seed."""
        split = "messages" if self.messages > 1 else "segments"
        values = {name: getattr(self, name) for name in POINT_AXES if name != "seed"}
        words = [str(values.pop(name)) for name in ("topology", "collective", "algorithm")]
        for name, value in values.items():
            if AXES[name].is_usual(value) or (name == "segments" and value == 1):
                continue
            words.append(f"--{split}" if name == "segments" else AXES[name].option)
            words.append(" ".join(value) if isinstance(value, tuple) else str(value))
        return f"starcast run once {shlex.join(words)}"


@lru_cache(maxsize=4096)
def _with_defaults(
    spec: str, collective: str, algorithm: str, given: tuple[tuple[str, int | str], ...]
) -> Mapping[str, int | str]:
    entry = find_algorithm(collective, algorithm)
    return entry.resolve_arguments(as_topology(spec), dict(given))


# Faults are given by labels in the grid, or drawn at random. Drawing them does not depend on the
# schedule, so that all algorithms are compared under the same faults.


def resolve_faults(topology: Topology, text: str, seed: int) -> tuple[str, ...]:
    """Return the faults that a value on the axis ``faults`` stands for, drawing them if needed.

    Args:
        topology: the topology; its root, the identity node, is never drawn.
        text: ``none``, ``2 nodes``, ``1 link``, or labels of nodes and links.
        seed: the random seed. The same topology, text and seed give the same faults for every
            algorithm.

    Returns:
        The faults in the form of `canonical_faults`.

    Raises:
        InputError: the topology has too few nodes or links, or a label is not valid.
    """
    if text == NONE:
        return ()
    drawn = drawn_faults(text)
    if drawn is None:
        return canonical_faults(topology, text.split())
    amount, kind = drawn
    most = topology.nodes - 1 if kind == "node" else topology.links
    if amount > most:
        besides = " besides the root" if kind == "node" else ""
        raise InputError(
            f"{topology.spec} has fewer than {amount} {kind}s{besides}", hint=f"give at most {most}"
        )
    random = np.random.default_rng(seed)
    if kind == "link":
        return canonical_faults(topology, _draw_links(topology, amount, random))
    # Rank 0, the root, is excluded.
    ranks = 1 + random.choice(topology.nodes - 1, size=amount, replace=False)
    return canonical_faults(topology, map(str, topology.labels(ranks)))


def canonical_faults(topology: Topology, named: Iterable[str]) -> tuple[str, ...]:
    """Return faults in the notation of `starcast.judges.simulator.Fault`, without repetition.

    The faults are sorted by rank, nodes before links. The two nodes of a link are in the order of
    their ranks.

    Raises:
        InputError: a word is not a fault, names no node or link of the topology, or a step is 0.
    """

    def position(fault: "Fault") -> tuple[int, ...]:
        return (len(fault.ends), *map(topology.node, fault.ends), fault.step)

    faults = {_place_fault(topology, word) for word in named}
    return tuple(map(str, sorted(faults, key=position)))


def _draw_links(topology: Topology, amount: int, random: np.random.Generator) -> list[str]:
    """Draw undirected links with equal probability."""
    # Directed links are drawn, because they are easily numbered. An undirected link is drawn at
    # most twice, once per direction. So drawing twice as many directed links gives enough
    # undirected links.
    directed = random.choice(topology.nodes * topology.degree, size=2 * amount, replace=False)
    rank, place = np.divmod(directed, topology.degree)
    other = topology.step(np.array(topology.ports, dtype=np.uint8)[place], rank)
    ends = zip(np.minimum(rank, other).tolist(), np.maximum(rank, other).tolist(), strict=True)
    links = list(dict.fromkeys(ends))[:amount]
    return [f"{topology.label(low)}-{topology.label(high)}" for low, high in links]


def _place_fault(topology: Topology, word: str) -> "Fault":
    # Comparisons need this module, but not the simulator.
    from starcast.judges.simulator import Fault  # noqa: PLC0415

    fault = Fault.parse(word)
    try:
        return fault.on(topology)
    except InputError as error:
        raise InputError(
            f"the fault '{word}' is not on {topology.spec}: {error.message}", hint=error.hint
        ) from None
