"""Run a search: start from the known record of a problem, and keep every improvement."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from time import monotonic

from starcast.records import Attempt, Record, verify, witness_value
from starcast.records.checks import MAX_NODES
from starcast.records.model import Witness
from starcast.search.catalogue import find_problem
from starcast.search.engines import Budget, solver_name
from starcast.search.formula import require_fit
from starcast.search.problem import Decision, Method, SearchProblem
from starcast.search.proofs import make_proof
from starcast.search.verification import check_record
from starcast.support.errors import LimitError
from starcast.topologies import Topology, as_topology

#: The share of the remaining time in which the search looks for an object that reaches the bound.
#: The other time is for smaller improvements of the record.
_BEST_FIRST = 0.5


def search(
    problem: str,
    topology: Topology | str,
    budget: Budget | None = None,
    known: Record | None = None,
    keep: Callable[[Record], None] = lambda _record: None,
    **arguments: int,
) -> Record:
    """Improve the record of a problem on a topology, until it is optimal or time runs out.

    Args:
        problem: the name of a problem.
        topology: a `Topology` or its spec.
        budget: limits; by default 60 seconds in one process.
        known: the record to start from; its value and bound never get worse.
        keep: receives each improved record, so that an interrupted search loses nothing.
        **arguments: arguments of the problem, such as ``congestion``.

    Returns:
        The best record.

    Raises:
        InputError: the problem or an argument is unknown, or the problem is not defined on the
            topology.
        LimitError: records of the problem are not checked on a topology of this size, or the
            search does not fit into memory.
        RejectedError: the known record is wrong.
        UnavailableError: a solver is not installed.

    Example:
        >>> search("one-port-broadcast", "S4").value
        5
    """
    graph = as_topology(topology)
    declared = find_problem(problem)
    declared.check_topology(graph)
    asked = declared(graph, declared.resolve_arguments(arguments))
    # The budget is copied, because the time of a budget starts when the object is created.
    limits = Budget() if budget is None else replace(budget)
    most = MAX_NODES[problem]
    if graph.nodes > most:
        raise LimitError(
            f"{graph.spec} has {graph.nodes:,} nodes, and records of {problem} are checked only on "
            f"topologies of at most {most:,} nodes",
            hint="choose a smaller topology",
        )
    return _Search(asked, limits, keep).run(known)


class _Search:
    """One search, which improves a record step by step."""

    def __init__(
        self, problem: SearchProblem, budget: Budget, keep: Callable[[Record], None]
    ) -> None:
        self._problem = problem
        self._graph = problem.topology
        self._budget = budget
        self._keep = keep

    def run(self, known: Record | None) -> Record:
        """Run the search, and return the best record."""
        record = self._first(known)
        self._report(record)
        # An object that reaches the bound is tried first: if it is refuted, the bound improves.
        for aims_at_bound in (True, False):
            while not record.optimal and self._budget.left > 0:
                before = record
                is_last = not aims_at_bound or abs(record.value - record.bound) == 1
                target = record.bound if aims_at_bound else record.value - record.sign
                record = self._look_for(record, target, 1.0 if is_last else _BEST_FIRST)
                if (record.value, record.bound) == (before.value, before.bound):
                    break
        # The record is also stored if no attempt had a result, because it lists all attempts.
        if not record.optimal:
            self._keep(record)
        return record

    def _first(self, known: Record | None) -> Record:
        """Return the record to start from: the known record, or that of a simple first object."""
        bound = self._problem.bound()
        if known is not None:
            check_record(known)
            # The bound from theory may have improved since the record was written.
            if known.sign * bound.value > known.sign * known.bound:
                return replace(known, bound=bound.value, reason=bound.reason, proof=None)
            return known
        witness = self._problem.start(self._budget)
        record = Record(
            problem=self._problem.name,
            topology=self._graph.spec,
            value=self._value(witness),
            bound=bound.value,
            reason=bound.reason,
            witness=witness,
            arguments=dict(self._problem.values),
            version=version("starcast"),
            command=self._command(),
        )
        self._keep(record)
        return record

    def _look_for(self, record: Record, target: int, share: float) -> Record:
        """Search for a value with each method in turn, until one of them finds or refutes it."""
        part = self._budget.part(share)
        methods = self._methods(target)
        for method in methods:
            # Some methods do preparatory work before they check the time limit, so it is checked
            # before each method.
            if self._budget.left <= 0:
                break
            start = monotonic()
            self._budget.reporter.say(
                f"{self._problem.name} on {self._graph.spec}: value {record.value}, bound "
                f"{record.bound}; looking for {target} ({method.name})"
            )
            outcome = method.run(target, part.part(1.0 if method is methods[-1] else method.share))
            seconds = round(monotonic() - start, 1)
            found = None if outcome.witness is None else self._value(outcome.witness)
            is_reached = found is not None and record.sign * found <= record.sign * target
            is_better = found is not None and record.sign * found < record.sign * record.value
            result = outcome.result if outcome.result == "none" or is_reached else "open"
            value = found if is_better else None
            attempt = Attempt(method.name, target, result, seconds, value, self._budget.seed)
            record = replace(
                record, tried=(*record.tried, attempt), seconds=round(record.seconds + seconds, 1)
            )
            if outcome.result == "none" or is_better:
                record = self._improved(record, outcome, value, target, method)
            if result != "open":
                return record
        return record

    def _methods(self, target: int) -> Sequence[Method]:
        """Return the methods for a target; if its formula is too large, only those without one.

        If all methods need the formula, all are returned; each of them then refuses it.
        """
        methods = self._problem.methods()
        others = [method for method in methods if not method.solves_formulas]
        try:
            subject = f"{self._problem.name} on {self._graph.spec}"
            require_fit(self._problem.literals(target), self._budget.memory, subject)
        except LimitError as error:
            if others:
                self._budget.reporter.say(f"searching without a formula: {error.message}")
                return others
        return methods

    def _improved(
        self, record: Record, outcome: Decision, value: int | None, target: int, method: Method
    ) -> Record:
        solver = solver_name(self._budget.engine) if method.solves_formulas else record.solver
        if outcome.witness is not None and value is not None:
            witness = {**outcome.witness, **record.evidence}
            better = replace(record, value=value, witness=witness, solver=solver)
        else:
            refuted = target if outcome.target is None else outcome.target
            statement = self._problem.statement(refuted)
            proof = None
            if outcome.formula is not None:
                self._budget.reporter.say(f"{statement}: making and checking the proof")
                proof = make_proof(outcome.formula, statement, self._command(), self._budget)
            better = replace(
                record,
                bound=refuted + record.sign,
                reason=statement,
                proof=proof,
                witness={**record.solution, **outcome.evidence},
                solver=solver,
            )
        verify(better)
        self._report(better)
        self._keep(better)
        return better

    def _value(self, witness: Witness) -> int:
        return witness_value(self._problem.name, self._graph.spec, self._problem.values, witness)

    def _report(self, record: Record) -> None:
        state = "optimal" if record.optimal else f"bound {record.bound}"
        self._budget.reporter.say(f"{record.id}: value {record.value}, {state}")

    def _command(self) -> str:
        defaults = self._problem.arguments
        given = [
            f"--{name} {value}"
            for name, value in self._problem.values.items()
            if defaults[name] != value
        ]
        return " ".join(["starcast search", self._problem.name, self._graph.spec, *given])
