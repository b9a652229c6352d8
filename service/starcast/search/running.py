"""Run a single search, or many searches in shards or on executors.

A search starts from the known record of a problem, and stores every improvement. A list of searches
contains a search for each combination of a problem, a topology and a random seed. Each search is a
single task, because the methods of a search build on each other's results. Searches for the same
problem and topology differ in their random seeds; `combine_records` merges the records of these
searches into one record with the best value and bound.
"""

import base64
import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any

from starcast.records import Attempt, Record, verify, witness_value
from starcast.records.checks import MAX_NODES
from starcast.records.files import pack_witness, unpack_witness
from starcast.records.model import (
    MAX_ATTEMPTS,
    Witness,
    combine_records,
    improve_record,
    not_a_record,
    read_fields,
)
from starcast.search.engines import Budget, require_fit, solver_name
from starcast.search.keeping import trusted_part
from starcast.search.problem import Decision, Method, SearchProblem, find_problem
from starcast.search.proofs import CheckedRecord, make_proof, proof_limits
from starcast.support import parallel
from starcast.support.errors import InputError, LimitError
from starcast.support.json_files import StrictNumber, StrictRecord
from starcast.support.progress import Silent
from starcast.support.shards import Job, Shard, merge_shards, write_shard
from starcast.topologies import Topology, as_topology, memory

#: The share of the remaining time in which the search looks for an object that reaches the bound.
#: The rest of the time is used for smaller improvements of the record.
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
        budget: the limits on time and memory (default: 60 seconds, one process).
        known: the record to start from. The result's value is never worse than the known value; the
            result's bound is worse only if the known bound cannot be verified.
        keep: receives each improved record, so that an interrupted search loses nothing.
        **arguments: arguments of the problem, such as ``congestion``.

    Returns:
        The record with the best value and the best bound that are known after the search.

    Raises:
        InputError: the problem or an argument is unknown, the problem is not defined on the
            topology, or the known record belongs to another problem or topology.
        LimitError: the topology has more nodes than the record checker supports for this problem,
            the search does not fit into memory, or it finds no first object in time.
        RejectedError: the witness, bound or proof of the known record is wrong, or neither a proof
            checker nor a second solver confirms a refutation.
        UnavailableError: a solver is not installed.

    Example:
        >>> search("one-port-broadcast", "S4").value
        5
    """
    graph = as_topology(topology)
    limits = budget or Budget()
    values = find_problem(problem).resolve_arguments(arguments)
    if known is not None:
        if (known.problem, known.topology, known.arguments) != (problem, graph.spec, values):
            raise InputError(
                f"{known.id} is not a record of {problem} on {graph.spec} with these arguments",
                hint="omit the known record",
            )
        known = trusted_part(known, proof_limits(limits)).record
    return _search_from(known, problem, graph, values, limits, keep)


def _search_from(
    known: Record | None,
    problem: str,
    graph: Topology,
    values: Mapping[str, int],
    budget: Budget,
    keep: Callable[[Record], None],
) -> Record:
    """Run a search like `search`, but trust the known record, which is already checked."""
    declared = find_problem(problem)
    declared.check_topology(graph)
    asked = declared(graph, values)
    # The budget is copied, because the time limit starts when a budget object is created.
    limits = replace(budget)
    most = MAX_NODES[problem]
    if graph.nodes > most:
        raise LimitError(
            f"{graph.spec} has {graph.nodes:,} nodes, but records of {problem} are checked only on "
            f"topologies of at most {most:,} nodes",
            hint="choose a smaller topology",
        )
    return _Search(asked, limits, keep).run(known)


@dataclass(frozen=True)
class _Search:
    """A search that improves its record (the best known object) step by step."""

    _problem: SearchProblem
    _budget: Budget
    _keep: Callable[[Record], None]

    @property
    def _spec(self) -> str:
        return self._problem.topology.spec

    def run(self, known: Record | None) -> Record:
        """Run the search, and return the best record."""
        record = self._first(known)
        self._report(record)
        # The search first looks for an object that reaches the bound. If the search proves that no
        # object reaches it, the bound improves.
        for aims_at_bound in (True, False):
            while not record.optimal and self._budget.left > 0:
                before = record
                is_last = not aims_at_bound or abs(record.value - record.bound) == 1
                target = record.bound if aims_at_bound else record.value - record.sign
                record = self._look_for(record, target, 1.0 if is_last else _BEST_FIRST)
                if (record.value, record.bound) == (before.value, before.bound):
                    break
        # The record is stored even if nothing improved, because it lists the attempts.
        if not record.optimal:
            self._keep(record)
        return record

    def _first(self, known: Record | None) -> Record:
        """Return the known record, or else a new record of an object that is quick to find.

        If the bound from theory is better than the known bound, it replaces the known bound.
        """
        bound = self._problem.bound()
        if known is not None:
            # The bound from theory may have improved since the record was written.
            if known.sign * bound.value > known.sign * known.bound:
                return replace(
                    known,
                    bound=bound.value,
                    reason=bound.reason,
                    proof=None,
                    witness=known.solution,
                )
            return known
        witness = self._problem.start(self._budget)
        record = Record(
            problem=self._problem.name,
            topology=self._spec,
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
        """Try each method until one finds an object with the target value or refutes the target.

        Args:
            record: the best record so far.
            target: the value to look for.
            share: the share of the remaining time that all methods together may use.

        Returns:
            The record after all improvements, which lists the attempts.
        """
        part = self._budget.part(share)
        methods = self._methods(target)
        for method in methods:
            # The time limit is checked before each method, because some methods do preparatory work
            # before their own first check.
            if self._budget.left <= 0:
                break
            start = monotonic()
            self._budget.reporter.say(
                f"{self._problem.name} on {self._spec}: value {record.value}, bound "
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
                record,
                tried=(*record.tried, attempt)[-MAX_ATTEMPTS:],
                seconds=round(record.seconds + seconds, 1),
            )
            if outcome.result == "none" or is_better:
                record = self._improved(record, outcome, value, target, method)
            if result != "open":
                return record
        return record

    def _methods(self, target: int) -> Sequence[Method]:
        """Return the search methods for a target.

        If the target's formula is too large, only methods that need no formula are returned. If all
        methods need the formula, all are returned, and the first will raise an error when it runs.
        """
        methods = self._problem.methods()
        others = [method for method in methods if not method.solves_formulas]
        try:
            subject = f"{self._problem.name} on {self._spec}"
            require_fit(self._problem.literals(target), self._budget.memory, subject)
        except LimitError as error:
            if others:
                self._budget.reporter.say(f"searching without a formula: {error.message}")
                return others
        return methods

    def _improved(
        self, record: Record, outcome: Decision, value: int | None, target: int, method: Method
    ) -> Record:
        """Add a better value or a proven bound to a record; return the verified and stored record.

        Args:
            record: the record before the attempt.
            outcome: the result of the attempt.
            value: the value of the found object; None if the target was refuted.
            target: the target of the attempt.
            method: the method that was tried.
        """
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
        return witness_value(self._problem.name, self._spec, self._problem.values, witness)

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
        return " ".join(["starcast search", self._problem.name, self._spec, *given])


@dataclass(frozen=True)
class SearchTask:
    """One search of a list: its problem, topology, arguments and random seed.

    Attributes:
        problem: the name of the problem.
        topology: the spec of the topology.
        arguments: all arguments of the problem, by name.
        seed: the random seed of the search's first process.
    """

    problem: str
    topology: str
    arguments: tuple[tuple[str, int], ...]
    seed: int

    @property
    def subject(self) -> tuple[str, str, tuple[tuple[str, int], ...]]:
        """The problem, topology and arguments. Records with the same subject can be combined."""
        return self.problem, self.topology, self.arguments

    def run(self, budget: Budget, known: Record | None, keep: Callable[[Record], None]) -> Record:
        """Run the search with the random seed of this task.

        The parameters have the same meaning as in `search`, but the known record is not checked.
        """
        limits, graph = replace(budget, seed=self.seed), as_topology(self.topology)
        return _search_from(known, self.problem, graph, dict(self.arguments), limits, keep)

    def __str__(self) -> str:
        return f"the search {self.problem} on {self.topology} with seed {self.seed}"


#: A function that returns the best known record for a search, already checked; None if no record is
#: known. Such a function can use `starcast.search.keeping.find_trusted`.
FindKnown = Callable[[SearchTask], Record | None]


def plan_searches(
    problems: Sequence[str],
    topologies: Sequence[str | Topology],
    arguments: Mapping[str, int],
    seeds: Sequence[int],
) -> list[SearchTask]:
    """Return a search for each combination of a problem, a topology and a seed, grouped by seed.

    Args:
        problems: the names of the problems.
        topologies: the topologies or their specs.
        arguments: arguments that all problems have, by name.
        seeds: the random seeds.

    Raises:
        InputError: a problem, topology or argument is unknown, a problem is not defined on a
            topology, or no problem, topology or seed is given.
    """
    # A dictionary keeps the order and removes duplicates.
    tasks: dict[SearchTask, None] = {}
    for seed in seeds:
        for name in problems:
            problem = find_problem(name)
            values = tuple(sorted(problem.resolve_arguments(arguments).items()))
            for each in topologies:
                graph = as_topology(each)
                problem.check_topology(graph)
                tasks[SearchTask(name, graph.spec, values, seed)] = None
    if not tasks:
        raise InputError("there is nothing to search", hint="specify a problem and a topology")
    return list(tasks)


def run_searches(
    tasks: Sequence[SearchTask],
    budget: Budget,
    find_known: FindKnown,
    keep: Callable[[Record], None] = lambda _record: None,
    executor: Executor | None = None,
) -> Iterator[tuple[SearchTask, Record]]:
    """Run searches; yield each finished search, and the best record so far for its subject.

    The subject of a search consists of its problem, topology and arguments.

    Args:
        tasks: the searches.
        budget: the limits of each search; its seed is not used.
        find_known: returns the checked record from which a search starts, or None.
        keep: receives each improved record.
        executor: runs the searches. By default they run one after another in this process, and each
            search starts from the record of the previous search with the same subject.

    Raises:
        LimitError: a topology is too large for its problem, a search does not fit into memory or
            finds no first object in time, or all workers that ran the same search were killed.
        RejectedError: neither a proof checker nor a second solver confirms a refutation.
        UnavailableError: a solver is not installed.
    """
    best: dict[object, Record] = {}
    if executor is None:
        for task in tasks:
            known = best.get(task.subject) or find_known(task)
            best[task.subject] = task.run(budget, known, keep)
            yield task, best[task.subject]
        return
    # On an executor, tasks with the same subject may run at the same time, so they cannot use each
    # other's records. All of them start from the known record.
    starts: dict[object, Record | None] = {}
    for task in tasks:
        if task.subject not in starts:
            starts[task.subject] = find_known(task)
    items = [(task, starts[task.subject]) for task in tasks]
    best = {subject: known for subject, known in starts.items() if known is not None}
    work = parallel.Workload(
        partial(_search_in_worker, replace(budget, reporter=Silent())),
        lambda _: budget.memory * budget.jobs * 10**6,
        memory.available,
        partial(_require_memory, budget.memory * budget.jobs),
        lambda item: str(item[0]),
    )
    with (
        budget.reporter.task("searching", len(tasks), "searches") as progress,
        parallel.run_parallel(items, work, executor) as results,
    ):
        for (task, _), found in results:
            progress.advance()
            best[task.subject] = improve_record(best.get(task.subject), found, keep)
            yield task, best[task.subject]


def search_shard(
    tasks: Sequence[SearchTask],
    shard: Shard,
    file: Path,
    budget: Budget,
    find_known: FindKnown,
    executor: Executor | None = None,
) -> list[Record]:
    """Run the searches of a shard, and write their records to a file, not to a folder of records.

    Args:
        tasks: all searches.
        shard: the shard whose searches run.
        file: the path of the output file.
        budget: the limits of each search; its seed is not used.
        find_known: returns the checked record from which a search starts, or None.
        executor: runs the searches (default: this process, one after another).

    Returns:
        The record of each search.

    Raises:
        InputError: the file cannot be written.
        LimitError, RejectedError, UnavailableError: a search failed, as described for
            `run_searches`; no file is written.
    """
    numbers = {task: number for number, task in shard.select(tasks)}
    found = dict(run_searches(list(numbers), budget, find_known, executor=executor))
    results = {numbers[task]: _to_json(record) for task, record in found.items()}
    searches = [[task.problem, task.topology, dict(task.arguments), task.seed] for task in tasks]
    description = {"searches": searches, "seconds": budget.seconds, "engine": budget.engine}
    write_shard(file, Job("search", description, len(tasks)), shard, results)
    return list(found.values())


def merge_searches(files: Sequence[Path], budget: Budget | None = None) -> list[CheckedRecord]:
    """Merge the files of shards; combine the records with the same id into one record.

    Args:
        files: the files of all shards.
        budget: the limits for regenerating proofs; by default no proof is generated.

    Returns:
        The combined records, with only their verified parts. The verification state of a record is
        that of the best bound in the files.

    Raises:
        InputError: the files are not all shards of one list of searches or are damaged, a topology
            does not exist, or a problem is not defined on its topology or has no formula.
        LimitError: a file is too large.
        RejectedError: the shards were computed by another version of the code, or a witness, bound
            or proof is wrong.
    """
    _, results = merge_shards(files, "search", _Description, _SearchResult)
    # Records of many shards may have the same bound. They are grouped, so that the proof of this
    # bound is regenerated only once.
    groups: dict[object, list[Record]] = {}
    for number, values in enumerate(results):
        record = _from_json(values, f"the record of search {number}")
        formula = None if record.proof is None else record.proof.formula_sha256
        groups.setdefault((record.id, record.bound, formula), []).append(record)
    checked_by_id: dict[str, list[tuple[int, CheckedRecord]]] = {}
    for records in groups.values():
        checked = trusted_part(combine_records(records), budget)
        checked_by_id.setdefault(checked.record.id, []).append((records[0].bound, checked))
    return [_merge_checked(found) for found in checked_by_id.values()]


def _merge_checked(found: Sequence[tuple[int, CheckedRecord]]) -> CheckedRecord:
    """Combine checked records with the same id, and return the result.

    The list ``found`` has a pair for each record: the bound before the check, and the result.
    """
    best = combine_records(checked.record for _, checked in found)
    # A bound that is not verified matters only if it is better than the verified bounds.
    for bound, checked in found:
        if checked.verification != "verified" and best.sign * (bound - best.bound) > 0:
            return checked._replace(record=best)
    return CheckedRecord(best, "verified")


def _search_in_worker(budget: Budget, item: tuple[SearchTask, Record | None]) -> Record:
    """Run a search in a worker process; ``item`` contains the search and its known record."""
    # Workers are daemonic, and Python does not allow daemonic processes to start other processes
    # such as solvers. So the flag ``daemon`` is cleared. No solver outlives its worker, because the
    # kernel kills a solver process when its parent ends.
    multiprocessing.current_process().daemon = False
    task, known = item
    # Improved records are ignored here, because the calling process stores the final result.
    return task.run(budget, known, lambda _record: None)


def _require_memory(needed: int, item: tuple[SearchTask, Record | None], free: int) -> None:
    if free < needed * 10**6:
        raise LimitError(
            f"{item[0]} may use {needed:,} MB of memory, but only {free / 1e6:,.0f} MB are free",
            hint="lower `memory`, or use workers with more memory",
        )


class _Description(StrictRecord):
    """Description of a sharded job: all of its searches, their time limit and their solver."""

    searches: list[Any]
    seconds: StrictNumber
    engine: str


class _SearchResult(StrictRecord):
    """A record in a shard file; the packed arrays of the witness are encoded as base64."""

    record: dict[str, Any]
    witness: str


def _to_json(record: Record) -> dict[str, Any]:
    packed = base64.b64encode(pack_witness(record.witness)).decode("ascii")
    return {"record": record.as_json(), "witness": packed}


def _from_json(result: _SearchResult, source: str) -> Record:
    try:
        packed = base64.b64decode(result.witness, validate=True)
    except ValueError as error:
        raise not_a_record(source, error) from None
    witness = unpack_witness(packed, source)
    return read_fields(result.record, source).record(witness)
