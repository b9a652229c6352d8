"""The declaration of a problem: what is searched, why a bound holds, and the methods."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple

from starcast.errors import InputError
from starcast.records import Witness
from starcast.records.model import PROBLEMS, Sense
from starcast.search.engines import Budget
from starcast.search.formula import Formula
from starcast.support.text import did_you_mean
from starcast.topologies import Topology

Arguments = Mapping[str, int]


class TheoryBound(NamedTuple):
    """A value that no object exceeds in quality, and why."""

    value: int
    reason: str


class PaperValue(NamedTuple):
    """The value that a construction of the papers reaches, and its source."""

    value: int
    source: str


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

#: ``run(topology, arguments, target, budget)``.
Run = Callable[[Topology, Arguments, int, Budget], Decision]


@dataclass(frozen=True)
class Method:
    """A way to search.

    Attributes:
        name: what it does, for records.
        run: the search.
        share: the share of the remaining time that it gets; the last method gets all.
        supports: whether it can be used on a topology.
        solves_formulas: whether it uses the engine of the budget.
    """

    name: str
    run: Run
    share: float = 1.0
    supports: Callable[[Topology], bool] = lambda _topology: True
    solves_formulas: bool = True


def _no_formula(_graph: Topology, _args: Arguments, _target: int, _witness: Witness) -> Formula:
    raise InputError("this problem has no formula", hint="its bound follows from theory")


@dataclass(frozen=True)
class SearchProblem:
    """A question about topologies with a number as its answer.

    Attributes:
        name: its name.
        question: the number that is asked for, as a noun phrase.
        variables: the variables of the formula.
        constraints: its constraints.
        symmetry: the symmetry that the search uses, and why it loses nothing or what it restricts.
        bound: ``bound(topology, arguments)`` returns the bound of theory.
        papers: ``papers(topology, arguments)`` returns what the papers reach, or None.
        start: ``start(topology, arguments, budget)`` returns a first witness.
        methods: the searches, in the order in which they are tried.
        literals: ``literals(topology, arguments, target)`` estimates the size of the formula.
        statement: ``statement(arguments, target)`` says what a refuted formula shows.
        rebuild: ``rebuild(topology, arguments, target, witness)`` writes the refuted formula of a
            record again.
        arguments: names and defaults of the arguments.
        unsupported: ``unsupported(topology)`` returns why the problem makes no sense, or None.
    """

    name: str
    question: str
    variables: str
    constraints: str
    symmetry: str
    bound: Callable[[Topology, Arguments], TheoryBound]
    papers: Callable[[Topology, Arguments], PaperValue | None]
    start: Callable[[Topology, Arguments, Budget], Witness]
    methods: tuple[Method, ...]
    literals: Callable[[Topology, Arguments, int], int]
    statement: Callable[[Arguments, int], str]
    rebuild: Callable[[Topology, Arguments, int, Witness], Formula] = _no_formula
    arguments: Mapping[str, int] = field(default_factory=dict)
    unsupported: Callable[[Topology], str | None] = lambda _topology: None

    @property
    def sense(self) -> Sense:
        """Whether the least or the greatest value is wanted."""
        return PROBLEMS[self.name]

    def resolve_arguments(self, given: Mapping[str, int]) -> dict[str, int]:
        """Return all arguments with their values.

        Raises:
            InputError: an argument is unknown or not a number from 1.
        """
        for name, value in given.items():
            if name not in self.arguments:
                known = ", ".join(self.arguments) or "none"
                raise InputError(
                    f"the problem {self.name} has no argument '{name}'",
                    hint=f"{did_you_mean(name, self.arguments)}its arguments: {known}",
                )
            if value < 1:
                raise InputError(f"{name} is {value!r}", hint="give a whole number from 1")
        return {**self.arguments, **given}

    def check_topology(self, topology: Topology) -> None:
        """Check that the problem makes sense on a topology.

        Raises:
            InputError: it does not.
        """
        reason = self.unsupported(topology)
        if reason is not None:
            raise InputError(
                f"the problem {self.name} is not defined on {topology.spec}: {reason}",
                hint="choose another topology",
            )


def too_small(nodes: int) -> Callable[[Topology], str | None]:
    """Return a function that excludes topologies with fewer nodes or a degree below 2."""

    def reason(topology: Topology) -> str | None:
        if topology.nodes >= nodes and topology.degree >= 2:
            return None
        return f"it needs {nodes} nodes and two links at each"

    return reason
