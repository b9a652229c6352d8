"""A point of an experiment: everything that decides the figures of one run."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

from starcast.collectives import catalogue
from starcast.collectives.algorithm import Algorithm
from starcast.experiments.faults import canonical_faults
from starcast.support.axes import AXES, LARGEST, POINT_AXES, Parameters, check_execution, read_seed
from starcast.support.errors import InputError
from starcast.support.spec_syntax import format_spec, parse_spec
from starcast.topologies import Topology, as_topology

#: Arguments of algorithms that are axes.
ARGUMENT_AXES = tuple(name for name, axis in AXES.items() if axis.is_argument)

#: The values that determine a schedule and its execution.
Structure = tuple[Any, ...]


@dataclass(frozen=True, order=True)
class Point(Parameters):
    """The parameters of one run, checked and written in one way; see `Parameters`."""

    def __post_init__(self) -> None:
        algorithm = self.catalogue_entry
        topology = as_topology(self.topology)
        catalogue.check_topology(algorithm, topology)
        if self.ports not in algorithm.ports:
            raise InputError(
                f"{algorithm} has no port model '{self.ports}'",
                hint=f"write {' or '.join(algorithm.ports)}",
            )
        check_execution(self.execution)
        self._check_numbers()
        # Different spellings of one point have to be equal, or a run would be executed and stored
        # twice: arguments with their defaults, the order of faults, a seed without faults.
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
                    f"{name} is out of range", hint="numerator and denominator are at most 10^30"
                )
            if value < axis.least:
                raise InputError(
                    f"{name} is {value}, less than {axis.least}",
                    hint=f"give {axis.option} {axis.least} or more",
                )
        if self.t_s == self.t_c == 0:
            raise InputError(
                "t_s = 0 and t_c = 0 do not describe a machine", hint="give one that is not 0"
            )
        read_seed(self.seed)

    def _normalize_algorithm(self, topology: Topology) -> str:
        name, own = parse_spec(self.algorithm, "algorithm")
        axis = next((each for each in own if each in ARGUMENT_AXES), None)
        if axis is not None:
            raise InputError(
                f"'{self.algorithm}' has '{axis}' in parentheses, which is given separately",
                hint=f"give --{axis}",
            )
        if not own:
            return name
        algorithm = self.catalogue_entry
        defaults = {
            argument.name: argument.default(topology)
            for argument in algorithm.arguments
            if argument.default is not None
        }
        changed = {key: value for key, value in own.items() if defaults.get(key) != value}
        return format_spec(name, changed)

    def _resolve_arguments(self) -> Mapping[str, int | str]:
        """Return all arguments of the algorithm; reject values that it has no argument for."""
        algorithm = self.catalogue_entry
        names = {argument.name for argument in algorithm.arguments}
        given: dict[str, int | str] = {}
        for axis in (axis for axis in ARGUMENT_AXES if axis in POINT_AXES):
            value = getattr(self, axis)
            name = algorithm.split_argument if axis == "segments" else axis
            if name is None or name not in names:
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
        """Return the point of a run, which was checked when it was executed.

        So what is stored is read without the plug-in that defines its algorithm.
        """
        point = object.__new__(cls)
        for axis in AXES:
            value = getattr(run, axis)
            object.__setattr__(point, axis, tuple(value) if axis == "faults" else value)
        return point

    @property
    def catalogue_entry(self) -> Algorithm:
        """The algorithm's entry in the catalogue."""
        return catalogue.find(self.collective, parse_spec(self.algorithm, "algorithm")[0])

    @property
    def arguments(self) -> dict[str, int | str]:
        """All arguments with which the schedule is built."""
        return dict(self._resolve_arguments())

    @property
    def structure(self) -> Structure:
        """The values that determine the schedule and its execution.

        Points that differ only in message_bytes, t_s, t_c and seed have the same structure. In an
        asynchronous execution these numbers decide which packets wait, and belong to it.
        """
        is_stepwise = self.execution == "synchronous"
        return tuple(
            getattr(self, name)
            for name in POINT_AXES
            if AXES[name].is_structural or not is_stepwise
        )

    def command(self) -> str:
        """Return the command line that runs this point; it names the faults instead of a seed."""
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
    entry = catalogue.find(collective, algorithm)
    return entry.resolve_arguments(as_topology(spec), dict(given))
