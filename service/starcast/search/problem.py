"""The base class and the registry of search problems, and types for their bounds and methods.

A problem asks for an *object*, such as a broadcast, a forest or a bisection, with the best possible
value. The arrays that describe an object are called a witness.

The package `starcast.search` imports the modules that define the problems.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.records import Witness
from starcast.search.engines import Budget, Formula, require_fit, solve
from starcast.support.errors import InputError
from starcast.support.integers import check_count
from starcast.support.text import did_you_mean
from starcast.support.vocabulary import MAX_ARGUMENT
from starcast.topologies import Topology


class TheoryBound(NamedTuple):
    """A bound that follows from theory: no object has a better value.

    Attributes:
        value: the bound.
        reason: the reason why the bound holds.
    """

    value: int
    reason: str


class Decision(NamedTuple):
    """The result of one attempt to find an object whose value is at least as good as a target.

    Attributes:
        result: ``witness`` if an object was found, ``none`` if provably no such object exists, else
            ``open``.
        witness: the arrays of the object; None if no object was found.
        formula: the formula that was refuted; None if no formula was refuted.
        evidence: arrays that are stored in the record, and from which the formula or the bound can
            be derived.
        target: if the result is ``none``, the worst value that was proved to be impossible, or
            None if this value is the target of the attempt.
    """

    result: Literal["witness", "none", "open"]
    witness: Witness | None = None
    formula: Formula | None = None
    evidence: Witness = MappingProxyType({})
    target: int | None = None


OPEN = Decision("open")


@dataclass(frozen=True)
class Method:
    """A method of searching for an object whose value is at least as good as a target.

    Attributes:
        name: a short description for records.
        run: the function that searches, called with the target and the budget.
        share: the share of the remaining time that this method may use. The last of a problem's
            methods may use all of the remaining time.
        solves_formulas: whether the method uses the SAT solver `Budget.engine`.
    """

    name: str
    run: Callable[[int, Budget], Decision]
    share: float = 1.0
    solves_formulas: bool = True


#: All search problems, by name, in the order in which their classes are defined.
PROBLEMS: dict[str, type["SearchProblem"]] = {}


def find_problem(name: str) -> type["SearchProblem"]:
    """Return the class of the search problem with the given name.

    Raises:
        InputError: no problem has this name.
    """
    if name not in PROBLEMS:
        raise InputError(
            f"unknown problem '{name}'",
            hint=f"{did_you_mean(name, PROBLEMS)}choose one of {', '.join(PROBLEMS)}",
        )
    return PROBLEMS[name]


class SearchProblem(ABC):
    """Base class of search problems; an instance represents a problem on one topology.

    Subclasses that define ``name`` are listed in `PROBLEMS`.

    Attributes:
        name: the name of the problem.
        question: the quantity that the search determines, as a noun phrase.
        variables: a description of the formula's variables.
        constraints: a description of the formula's constraints.
        symmetry: a description of the symmetry that the search uses. It explains why no solution
            is lost, or to which solutions the search is restricted.
        refuted: a template of the statement that no object reaches the target, with ``{target}``
            and argument names in braces.
        arguments: the arguments of the problem, with their defaults.
        least_nodes: the smallest number of nodes for which the problem is defined.
        values: the values of the arguments in this instance, by name.
    """

    name: ClassVar[str]
    question: ClassVar[str]
    variables: ClassVar[str]
    constraints: ClassVar[str]
    symmetry: ClassVar[str]
    refuted: ClassVar[str]
    arguments: ClassVar[Mapping[str, int]] = MappingProxyType({})
    least_nodes: ClassVar[int]

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls):
            PROBLEMS[cls.name] = cls

    def __init__(self, topology: Topology, values: Mapping[str, int]) -> None:
        self.topology = topology
        self.values = values

    @abstractmethod
    def bound(self) -> TheoryBound:
        """Return the best bound that follows from theory: no object has a better value."""

    @abstractmethod
    def start(self, budget: Budget) -> Witness:
        """Quickly find a first object, which the search then improves; return its witness."""

    @abstractmethod
    def methods(self) -> Sequence[Method]:
        """Return the search methods for the topology, in the order in which they are tried."""

    def statement(self, target: int) -> str:
        """Return the statement that is proved if the formula for a target is refuted."""
        return self.refuted.format(target=target, **self.values)

    def literals(self, target: int) -> int:  # noqa: ARG002 - subclasses use it
        """Return an estimate of the formula's number of literals; 0 if there is no formula."""
        return 0

    def rebuild(self, target: int, witness: Witness) -> Formula:  # noqa: ARG002
        """Rebuild the formula that the proof of a record refutes.

        Args:
            target: the value that is proved to be impossible.
            witness: the arrays of the record; some problems derive the formula from them.

        Raises:
            InputError: the problem has no formula.
        """
        raise InputError(
            f"the bounds of the problem {self.name} come from theory, not from proofs of a solver",
            hint="repeat the search to check the record",
        )

    @classmethod
    def resolve_arguments(cls, given: Mapping[str, int]) -> dict[str, int]:
        """Return all arguments of the problem, with the given values or else the defaults.

        Raises:
            InputError: an argument is unknown, or is not an integer from 1 to `MAX_ARGUMENT`.
        """
        for name, value in given.items():
            if name not in cls.arguments:
                known = ", ".join(cls.arguments) or "none"
                raise InputError(
                    f"the problem {cls.name} has no argument '{name}'",
                    hint=f"{did_you_mean(name, cls.arguments)}its arguments are: {known}",
                )
            check_count(name, value, MAX_ARGUMENT)
        return {**cls.arguments, **given}

    @classmethod
    def check_topology(cls, topology: Topology) -> None:
        """Check that the problem is defined on a topology.

        Raises:
            InputError: the topology has fewer nodes than `least_nodes`, a degree below 2, or no
                translations.
        """
        # Bounds and methods rely on translations: a translation maps any node to rank 0, so all
        # nodes have the same degree, and rank 0 is the only root to consider.
        if not topology.has_translations:
            raise InputError(
                f"the problem {cls.name} is not defined on {topology.spec}: its bounds need a"
                " topology with translations",
                hint="choose a star graph, an (n,k)-star or a hypercube",
            )
        if topology.nodes < cls.least_nodes or topology.degree < 2:
            raise InputError(
                f"the problem {cls.name} is not defined on {topology.spec}: it needs"
                f" at least {cls.least_nodes} nodes, each with at least two links",
                hint="choose another topology",
            )


class FormulaProblem(SearchProblem):
    """A problem whose formula for a target states that an object reaches this target.

    A solver finds a solution, which describes such an object, or refutes the formula.
    """

    @abstractmethod
    def write(self, target: int) -> tuple[Formula, NDArray[np.int32]]:
        """Return the formula for a target, and the variables that describe the object."""

    @abstractmethod
    def read(self, values: NDArray[np.bool_]) -> Witness:
        """Return the witness for a solution, given the values of the variables from `write`."""

    @abstractmethod
    def subject(self, target: int) -> str:
        """Return a description of the formula for a target, for progress reports and messages."""

    def solve(self, target: int, budget: Budget) -> Decision:
        """Use a solver to decide whether an object reaches a target.

        Raises:
            LimitError: the formula or the solver needs more memory than the limit.
            UnavailableError: the solver is not installed.
        """
        subject = self.subject(target)
        require_fit(self.literals(target), budget.memory, subject)
        formula, variables = self.write(target)
        status, values = solve(formula, budget, subject)
        if status == "unsatisfiable":
            return Decision("none", formula=formula)
        return OPEN if values is None else Decision("witness", self.read(values[variables]))

    def rebuild(self, target: int, _witness: Witness) -> Formula:
        """Rebuild the formula that the proof of a record refutes."""
        return self.write(target)[0]
