"""Verification of many claims, in parallel processes if that is faster.

A task consists of the claims of one section at one size: they share an `ObjectCache`, and so the
objects that they use.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from starcast.claims import catalogue
from starcast.claims.evidence import Evidence
from starcast.claims.model import Claim, sort_sizes
from starcast.claims.object_cache import ObjectCache
from starcast.claims.verdict import Verdict
from starcast.claims.verify import (
    applies_to,
    requested_sizes,
    require_memory,
    run_check,
    verdicts,
)
from starcast.support import parallel, processes
from starcast.support.errors import LimitError, StarcastError
from starcast.support.progress import Reporter, Silent
from starcast.support.vocabulary import Level
from starcast.topologies import memory

#: Claim id and spec.
Pair = tuple[str, str]
#: Below both limits starting processes takes longer than the checks: pairs, and bytes in total.
_MANY_PAIRS = 60
_MANY_BYTES = 50_000_000
#: Claims that together need more than 1/4 of the memory do not share a cache.
_MEMORY_SHARE = 4


@dataclass(frozen=True)
class Task:
    """Claims of one section, verified together at one size.

    Attributes:
        size: spec of the topology.
        claims: ids, in the order of the catalogue.
        total_bytes: estimated memory if the claims share nothing.
        required_bytes: estimated memory of the claim that needs most.
    """

    size: str
    claims: tuple[str, ...]
    total_bytes: int
    required_bytes: int

    def __str__(self) -> str:
        more = ", .." if len(self.claims) > 1 else ""
        return f"the check of {self.claims[0]}{more} on {self.size}"


def plan_pairs(
    claims: Iterable[Claim], level: Level = "quick", sizes: Sequence[str] | None = None
) -> tuple[Pair, ...]:
    """Return the claims to verify with their sizes, in the order of the papers.

    Args:
        claims: a conjunction stands for its parts.
        level: sizes to verify. Sizes of the level ``deep`` that exceed the memory are omitted.
        sizes: specs to verify instead of a level; each claim is verified on those it is about.

    Raises:
        InputError: the level or a size is unknown, or none of the claims is about a size.
        LimitError: a size does not fit into memory.
    """
    single = _resolve_conjunctions(claims)
    if sizes is None:
        pairs = [(claim, spec) for claim in single for spec in requested_sizes(claim, level)]
        if level == "deep":
            physical = memory.physical()
            pairs = [pair for pair in pairs if pair[0].required_bytes(pair[1]) <= physical]
    else:
        specs = sort_sizes(sizes)
        for spec in specs:
            if not any(applies_to(claim, spec) for claim in single):
                # Otherwise a size that no claim is about would be left out without a word.
                requested_sizes(single[0], level, [spec])  # raises the error with its hint
        pairs = [(claim, spec) for claim in single for spec in specs if applies_to(claim, spec)]
    for claim, spec in pairs:
        require_memory(claim, spec)
    return tuple((claim.id, spec) for claim, spec in pairs)


def plan_tasks(pairs: Iterable[Pair]) -> list[Task]:
    """Return tasks for the pairs, those with the largest estimate first."""
    groups: dict[tuple[str, str], list[Claim]] = {}
    for claim_id, spec in pairs:
        claim = catalogue.find_claim(claim_id)
        groups.setdefault((claim.section, spec), []).append(claim)
    tasks = [task for (_, spec), claims in groups.items() for task in _split(claims, spec)]
    return sorted(tasks, key=lambda task: -task.total_bytes)


@contextmanager
def run_tasks(
    tasks: Sequence[Task],
    jobs: int | None,
    reporter: Reporter,
    executor: Executor | None = None,
) -> Iterator[Iterator[tuple[Evidence, ...]]]:
    """Return the evidence of each task, in the order in which they finish.

    Args:
        tasks: the result of `plan_tasks`.
        jobs: number of processes (default: one per core, or none for a few small tasks).
        reporter: receives the progress.
        executor: runs the tasks instead of processes on this machine.

    Raises:
        InputError: ``jobs`` is less than 1.
        LimitError: a task does not fit into the free memory, or its processes were killed. The
            evidence of finished tasks has been returned before.
        StarcastError: a check raised an exception, which is a defect.
    """
    pairs = sum(len(task.claims) for task in tasks)
    is_large = pairs > _MANY_PAIRS or sum(task.total_bytes for task in tasks) > _MANY_BYTES
    count = processes.choose_jobs(len(tasks), jobs, worth_it=is_large)
    with reporter.task("verifying claims", pairs, "checks") as progress:

        def report(results: Iterable[tuple[Evidence, ...]]) -> Iterator[tuple[Evidence, ...]]:
            for evidence in results:
                progress.advance(len(evidence))
                yield evidence

        if executor is None and count == 1:
            yield report(map(run_task, tasks))
            return
        work = parallel.Workload(
            run_task, lambda task: task.total_bytes, memory.available, _require_free_memory, str
        )
        with ExitStack() as stack:
            if executor is None:
                executor = stack.enter_context(processes.local_processes(count))
            results = stack.enter_context(parallel.run_parallel(tasks, work, executor))
            yield report(evidence for _, evidence in results)


def run_task(task: Task) -> tuple[Evidence, ...]:
    """Return the evidence of the claims of a task, verified with one cache.

    Raises:
        LimitError: memory was exhausted.
        StarcastError: a check raised an exception, which is a defect.
    """
    objects = ObjectCache()
    return tuple(
        _run_check(catalogue.find_claim(claim_id), task.size, objects) for claim_id in task.claims
    )


def verify_claims(
    claims: Sequence[Claim],
    level: Level = "quick",
    sizes: Sequence[str] | None = None,
    jobs: int | None = None,
    reporter: Reporter | None = None,
    executor: Executor | None = None,
) -> tuple[Verdict, ...]:
    """Verify claims without storing anything.

    Args:
        claims: a conjunction stands for its parts.
        level: sizes to verify.
        sizes: specs to verify instead of a level.
        jobs: number of processes; see `run_tasks`.
        reporter: receives the progress.
        executor: runs the checks instead of processes on this machine.

    Returns:
        The verdicts, as `judge_claims` returns them.

    Example:
        >>> from starcast.claims import select_claims
        >>> [verdict.verdict for verdict in verify_claims(select_claims(["TS.L6"]), sizes=["S4"])]
        ['holds as a bound']
    """
    tasks = plan_tasks(plan_pairs(claims, level, sizes))
    with run_tasks(tasks, jobs, reporter or Silent(), executor) as results:
        evidence = [found for result in results for found in result]
    return judge_claims(claims, evidence)


def judge_claims(claims: Iterable[Claim], evidence: Iterable[Evidence]) -> tuple[Verdict, ...]:
    """Return the verdicts on claims with evidence; a conjunction needs evidence of all parts."""
    found = list(evidence)
    verified = {one.claim for one in found}
    complete = [claim for claim in claims if verified.issuperset(claim.parts or (claim.id,))]
    return tuple(verdicts(complete, found).values())


def _run_check(claim: Claim, spec: str, objects: ObjectCache) -> Evidence:
    try:
        return run_check(claim, spec, objects)
    except StarcastError:
        raise
    except MemoryError:
        raise LimitError(
            f"memory was exhausted while verifying {claim.id} on {spec}",
            hint="use fewer --jobs, or smaller --sizes",
        ) from None
    except Exception as error:
        raise StarcastError(
            f"the check of {claim.id} failed on {spec}: {type(error).__name__}: {error}",
            hint="please report it",
        ) from error


def _resolve_conjunctions(claims: Iterable[Claim]) -> list[Claim]:
    """Return the claims with checks of their own, each once: parts instead of a conjunction."""
    single: dict[str, Claim] = {}
    for claim in claims:
        if claim.check is not None:
            single[claim.id] = claim
            continue
        for part in claim.parts:
            single[part] = catalogue.claims()[part]
    return list(single.values())


def _split(claims: Sequence[Claim], spec: str) -> Iterator[Task]:
    """Yield one task for the claims, or several if one would take a large share of the memory."""
    limit = memory.physical() // _MEMORY_SHARE
    task = Task(spec, (), 0, 0)
    for claim in claims:
        required = claim.required_bytes(spec)
        if task.claims and task.total_bytes + required > limit:
            yield task
            task = Task(spec, (), 0, 0)
        task = replace(
            task,
            claims=(*task.claims, claim.id),
            total_bytes=task.total_bytes + required,
            required_bytes=max(task.required_bytes, required),
        )
    if task.claims:
        yield task


def _require_free_memory(task: Task, free: int) -> None:
    if task.required_bytes > free:
        claims = ", ".join(task.claims[:3])
        raise LimitError(
            f"{claims} on {task.size} need about {task.required_bytes / 1e9:,.1f} GB of memory,"
            f" {free / 1e9:,.1f} GB are free",
            hint="take smaller --sizes, or another --level",
        )
