"""The declaration of a problem: what is searched, why a bound holds, and the methods."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal, NamedTuple

from starcast.records import Witness
from starcast.records.model import PROBLEMS, Sense
from starcast.search.engines import Budget
from starcast.search.formula import Formula
from starcast.support.errors import InputError
from starcast.support.text import did_you_mean
from starcast.topologies import Topology


class TheoryBound(NamedTuple):
    """A value that no object exceeds in quality, and why."""

    value: int
    reason: str


class Decision(NamedTuple):
    """The end of one search for an object whose value is at least as good as a target.

    Attributes:
        result: an object (``witness``), a proof that there is none (``none``), or ``open``.
        witness: the object.
        formula: the formula that was refuted.
        evidence: arrays that the formula is made of, which the record keeps.
        target: the worst value that the formula refutes, if it is worse than that looked for.
    """

    result: Literal["witness", "none", "open"]
    witness: Witness | None = None
    formula: Formula | None = None
    evidence: Witness = MappingProxyType({})
    target: int | None = None


OPEN = Decision("open")

#: ``run(target, budget)``.
Run = Callable[[int, Budget], Decision]


@dataclass(frozen=True)
class Method:
    """A way to search.

    Attributes:
        name: what it does, for records.
        run: the search.
        share: the share of the remaining time that it gets; the last method gets all.
        solves_formulas: whether it uses the engine of the budget.
    """

    name: str
    run: Run
    share: float = 1.0
    solves_formulas: bool = True


class SearchProblem(ABC):
    """A question about topologies with a number as its answer; an instance asks it about one.

    Attributes:
        name: its name.
        question: the number that is asked for, as a noun phrase.
        variables: the variables of the formula.
        constraints: its constraints.
        symmetry: the symmetry that the search uses, and why it loses nothing or what it restricts.
        arguments: names and defaults of the arguments.
        least_nodes: the number of nodes from which the problem makes sense.
        values: the values of the arguments.
    """

    name: ClassVar[str]
    question: ClassVar[str]
    variables: ClassVar[str]
    constraints: ClassVar[str]
    symmetry: ClassVar[str]
    arguments: ClassVar[Mapping[str, int]] = MappingProxyType({})
    least_nodes: ClassVar[int]

    def __init__(self, topology: Topology, values: Mapping[str, int]) -> None:
        self.topology = topology
        self.values = values

    @property
    def sense(self) -> Sense:
        """Whether the least or the greatest value is wanted."""
        return PROBLEMS[self.name]

    @abstractmethod
    def bound(self) -> TheoryBound:
        """Return the bound of theory."""

    @abstractmethod
    def start(self, budget: Budget) -> Witness:
        """Return a first witness."""

    @abstractmethod
    def methods(self) -> Sequence[Method]:
        """Return the searches that the topology admits, in the order in which they are tried."""

    @abstractmethod
    def statement(self, target: int) -> str:
        """Return what a refuted formula shows."""

    def literals(self, target: int) -> int:  # noqa: ARG002 - of the formula of a target
        """Return an estimate of the literals of the formula; 0 if there is no formula."""
        return 0

    def rebuild(self, target: int, witness: Witness) -> Formula:  # noqa: ARG002
        """Write the refuted formula of a record again.

        Raises:
            InputError: the problem has no formula.
        """
        raise InputError("this problem has no formula", hint="its bound follows from theory")

    @classmethod
    def resolve_arguments(cls, given: Mapping[str, int]) -> dict[str, int]:
        """Return all arguments with their values.

        Raises:
            InputError: an argument is unknown or not a number from 1.
        """
        for name, value in given.items():
            if name not in cls.arguments:
                known = ", ".join(cls.arguments) or "none"
                raise InputError(
                    f"the problem {cls.name} has no argument '{name}'",
                    hint=f"{did_you_mean(name, cls.arguments)}its arguments: {known}",
                )
            if value < 1:
                raise InputError(f"{name} is {value!r}", hint="give a whole number from 1")
        return {**cls.arguments, **given}

    @classmethod
    def check_topology(cls, topology: Topology) -> None:
        """Check that the problem makes sense on a topology.

        Raises:
            InputError: the topology has fewer than `least_nodes`, or a degree below 2.
        """
        if topology.nodes < cls.least_nodes or topology.degree < 2:
            raise InputError(
                f"the problem {cls.name} is not defined on {topology.spec}: it needs"
                f" {cls.least_nodes} nodes and two links at each",
                hint="choose another topology",
            )
