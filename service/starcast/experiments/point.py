"""A point: one run to be, with everything that decides its figures."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self

from starcast.collectives.algorithm import Algorithm
from starcast.collectives.catalogue import check_topology, find
from starcast.database import models
from starcast.errors import InputError
from starcast.experiments.faults import canonical
from starcast.experiments.values import LARGEST, LARGEST_SEED
from starcast.topologies import topology

#: What decides a schedule and its execution.
Structure = tuple[str, str, str, str, int, int, str | None, tuple[str, ...]]


@dataclass(frozen=True, order=True)
class Point:
    """One run to be.

    ``p`` is the number of pieces that a tree's share of the message is cut into: ``segments``, or the packets that an
    algorithm of messages sends one after the other (Tseng & Sheu 1997, Table 1, row [16]); 1 of an algorithm that takes
    neither. ``m`` is in bytes, ``T_s`` in time a packet, ``T_c`` in time a byte. ``copies`` is 1 and ``tree`` None where the
    algorithm has no such argument; a tree that it has and that is not given is its default. ``faults`` are single nodes and
    links as `starcast.simulator.Fault` writes them, in ascending order; ``seed`` is what they were drawn with, 0 without.
    """

    topology: str
    collective: str
    algorithm: str
    ports: str
    p: int
    m: Fraction
    T_s: Fraction
    T_c: Fraction
    copies: int = 1
    tree: str | None = None
    faults: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        rule, where = self.rule, topology(self.topology)
        check_topology(rule, where)
        if self.ports not in rule.ports:
            raise InputError(
                f"{rule} has no port model '{self.ports}'", hint=f"write {' or '.join(rule.ports)}"
            )
        self._check_numbers()
        object.__setattr__(self, "tree", self._settled().get("base"))
        object.__setattr__(self, "faults", canonical(where, self.faults))
        if not self.faults:
            object.__setattr__(self, "seed", 0)

    def _check_numbers(self) -> None:
        for axis in ("p", "m", "T_s", "T_c"):
            value = Fraction(getattr(self, axis))
            if max(abs(value.numerator), value.denominator) > LARGEST:
                raise InputError(
                    f"{axis} is beyond what is computed here",
                    hint="numerator and denominator are at most 10^30",
                )
        if self.p < 1:
            raise InputError(
                f"a message cannot be cut into {self.p} segments", hint="give --segments 1 or more"
            )
        if self.m < 0:
            raise InputError(f"a message of {self.m} bytes cannot be", hint="give -m 0 or more")
        if min(self.T_s, self.T_c) < 0 or self.T_s == self.T_c == 0:
            raise InputError(
                f"T_s = {self.T_s} and T_c = {self.T_c} are no machine",
                hint="give 0 or more, and not 0 for both",
            )
        if not 0 <= self.seed <= LARGEST_SEED:
            raise InputError(f"{self.seed} is no seed", hint=f"give --seed 0 to {LARGEST_SEED}")

    def _settled(self) -> Mapping[str, int | str]:
        """Every argument of the algorithm with its value; what it has no argument for must be as if it were not there."""
        names = {argument.name for argument in self.rule.arguments}
        given: dict[str, int | str] = {}
        for axis, name, value, without in (
            ("segments or messages", self.rule.split_argument, self.p, 1),
            ("copies", "copies", self.copies, 1),
            ("tree", "base", self.tree, None),
        ):
            if name is None or name not in names:
                if value != without:
                    raise InputError(f"{self.rule} takes no {axis}", hint="leave it out")
            elif value is not None:
                given[name] = value
        return _with_defaults(self.topology, self.collective, self.algorithm, tuple(given.items()))

    @classmethod
    def of(cls, run: models.Run) -> Self:
        """The point that a stored run is at."""
        return cls(
            run.topology, run.collective, run.algorithm, run.ports, run.p, run.m, run.T_s, run.T_c,
            run.copies, run.tree, tuple(run.faults), run.seed,
        )  # fmt: skip

    @property
    def rule(self) -> Algorithm:
        """The algorithm's entry in the catalogue."""
        return find(self.collective, self.algorithm)

    @property
    def arguments(self) -> dict[str, int | str]:
        """What the schedule is built with: every argument of the algorithm."""
        return dict(self._settled())

    @property
    def messages(self) -> int:
        """M, the unit messages of the schedule; 1 where the algorithm takes none."""
        return self.p if self.rule.split_argument == "messages" else 1

    @property
    def structure(self) -> Structure:
        """What decides schedule and execution; points that differ in m, T_s, T_c and seed alone share it."""
        return (
            self.topology, self.collective, self.algorithm, self.ports, self.p, self.copies, self.tree, self.faults,
        )  # fmt: skip

    def command(self) -> str:
        """The command line that runs it; the faults are named, so that no seed is needed."""
        share = f" --{self.rule.split_argument} {self.p}" if self.rule.split_argument else ""
        copies = f" --copies {self.copies}" if self.copies > 1 else ""
        tree = f" --tree {self.tree}" if self.tree else ""
        faults = f" --faults {shlex.quote(' '.join(self.faults))}" if self.faults else ""
        return (
            f"starcast run once {self.topology} {self.collective} {self.algorithm} --ports {self.ports}"
            f"{share}{copies}{tree}{faults} -m {self.m} --t-s {self.T_s} --t-c {self.T_c}"
        )


@lru_cache(maxsize=4096)
def _with_defaults(
    spec: str, collective: str, algorithm: str, given: tuple[tuple[str, int | str], ...]
) -> Mapping[str, int | str]:
    return find(collective, algorithm).resolve_arguments(topology(spec), dict(given))
