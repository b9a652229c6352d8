"""A point of an experiment: everything that decides the figures of one run."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self

from starcast.collectives import catalogue
from starcast.collectives.algorithm import Algorithm
from starcast.database import models
from starcast.errors import InputError
from starcast.experiments.faults import canonical_faults
from starcast.experiments.values import LARGEST, LARGEST_SEED
from starcast.simulator.execution_models import check_execution
from starcast.topologies import Topology, as_topology
from starcast.trees.spec_syntax import format_spec, parse_spec

#: Arguments of algorithms that are attributes of a point and columns of a run.
ARGUMENT_AXES = ("base", "segments", "messages", "copies")

#: The values that determine a schedule and its execution.
Structure = tuple[
    str, str, str, str, int, int, str | None, tuple[str, ...], tuple[Fraction, ...] | None
]


@dataclass(frozen=True, order=True)
class Point:
    """The parameters of one run.

    Attributes:
        topology, collective, ports: names.
        algorithm: name, with the arguments that are none of the other attributes in parentheses,
            as plug-ins may have them: ``two-phase(depth=3)``. Defaults are omitted.
        segments: pieces of each tree's share of the message. For an algorithm of messages these are
            the packets that it sends one after the other (Tseng & Sheu 1997, Table 1, row [16]);
            1 for an algorithm that takes neither segments nor messages.
        message_bytes: size of the message, m in the papers.
        t_s, t_c: time per packet and time per byte, T_s and T_c in the papers.
        copies: trees that carry each unit; 1 if the algorithm has no such argument.
        base: the construction given to the algorithm, by default its own default; None if the
            algorithm takes none.
        faults: nodes and links as `starcast.simulator.Fault` writes them, in ascending order.
        seed: the random seed of the faults; 0 without faults.
        execution: the execution model, as in `starcast.timing`.
    """

    topology: str
    collective: str
    algorithm: str
    ports: str
    segments: int
    message_bytes: Fraction
    t_s: Fraction
    t_c: Fraction
    copies: int = 1
    base: str | None = None
    faults: tuple[str, ...] = ()
    seed: int = 0
    execution: str = "synchronous"

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
        object.__setattr__(self, "algorithm", self._normalize_algorithm(topology))
        object.__setattr__(self, "base", self._resolve_arguments().get("base"))
        object.__setattr__(self, "faults", canonical_faults(topology, self.faults))
        if not self.faults:
            object.__setattr__(self, "seed", 0)

    def _check_numbers(self) -> None:
        for axis in ("segments", "message_bytes", "t_s", "t_c"):
            value = Fraction(getattr(self, axis))
            if max(abs(value.numerator), value.denominator) > LARGEST:
                raise InputError(
                    f"{axis} is out of range", hint="numerator and denominator are at most 10^30"
                )
        if self.segments < 1:
            raise InputError(
                f"a message cannot have {self.segments} segments", hint="give --segments 1 or more"
            )
        if self.message_bytes < 0:
            raise InputError(
                f"a message cannot have {self.message_bytes} bytes", hint="give -m 0 or more"
            )
        if min(self.t_s, self.t_c) < 0 or self.t_s == self.t_c == 0:
            raise InputError(
                f"t_s = {self.t_s} and t_c = {self.t_c} do not describe a machine",
                hint="give 0 or more, and not 0 for both",
            )
        if not 0 <= self.seed <= LARGEST_SEED:
            raise InputError(
                f"{self.seed} is not a valid seed", hint=f"give --seed 0 to {LARGEST_SEED}"
            )

    def _normalize_algorithm(self, topology: Topology) -> str:
        name, own = parse_spec(self.algorithm, "algorithm")
        axis = next((each for each in own if each in ARGUMENT_AXES), None)
        if axis is not None:
            raise InputError(
                f"'{self.algorithm}' has the argument '{axis}' of its run in parentheses",
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
        for axis, name, value, absent in (
            ("segments or messages", algorithm.split_argument, self.segments, 1),
            ("copies", "copies", self.copies, 1),
            ("base", "base", self.base, None),
        ):
            if name is None or name not in names:
                if value != absent:
                    raise InputError(f"{algorithm} takes no {axis}", hint="omit it")
            elif value is not None:
                given[name] = value
        name, own = parse_spec(self.algorithm, "algorithm")
        values = tuple({**own, **given}.items())
        return _with_defaults(self.topology, self.collective, name, values)

    @classmethod
    def of(cls, run: models.Run) -> Self:
        """Return the point of a stored run."""
        return cls(
            run.topology, run.collective, run.algorithm, run.ports, run.segments,
            run.message_bytes, run.t_s, run.t_c, run.copies, run.base, tuple(run.faults), run.seed,
            run.execution,
        )  # fmt: skip

    @property
    def catalogue_entry(self) -> Algorithm:
        """The algorithm's entry in the catalogue."""
        return catalogue.find(self.collective, parse_spec(self.algorithm, "algorithm")[0])

    @property
    def arguments(self) -> dict[str, int | str]:
        """All arguments with which the schedule is built."""
        return dict(self._resolve_arguments())

    @property
    def messages(self) -> int:
        """The unit messages of the schedule; 1 if the algorithm takes no messages."""
        return self.segments if self.catalogue_entry.split_argument == "messages" else 1

    @property
    def structure(self) -> Structure:
        """The values that determine the schedule and its execution.

        Points that differ only in message_bytes, t_s, t_c and seed have the same structure. In an
        asynchronous execution these numbers decide which packets wait, and belong to it.
        """
        is_stepwise = self.execution == "synchronous"
        machine = None if is_stepwise else (self.message_bytes, self.t_s, self.t_c)
        return (
            self.topology, self.collective, self.algorithm, self.ports, self.segments, self.copies,
            self.base, self.faults, machine,
        )  # fmt: skip

    def command(self) -> str:
        """Return the command line that runs this point; it names the faults, so it has no seed."""
        split = self.catalogue_entry.split_argument
        options = [
            f"--ports {self.ports}",
            f"--{split} {self.segments}" if split else "",
            f"--copies {self.copies}" if self.copies > 1 else "",
            f"--base {self.base}" if self.base else "",
            f"--faults {shlex.quote(' '.join(self.faults))}" if self.faults else "",
            "" if self.execution == "synchronous" else f"--execution {self.execution}",
            f"-m {self.message_bytes} --t-s {self.t_s} --t-c {self.t_c}",
        ]
        given = " ".join(filter(None, options))
        algorithm = shlex.quote(self.algorithm)
        return f"starcast run once {self.topology} {self.collective} {algorithm} {given}"


@lru_cache(maxsize=4096)
def _with_defaults(
    spec: str, collective: str, algorithm: str, given: tuple[tuple[str, int | str], ...]
) -> Mapping[str, int | str]:
    entry = catalogue.find(collective, algorithm)
    return entry.resolve_arguments(as_topology(spec), dict(given))
