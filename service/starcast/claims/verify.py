"""Verification of one claim in this process, or of many claims in one or several processes."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from starcast.catalogue import packs, plugins
from starcast.claims import catalogue
from starcast.claims.cached_topology import ObjectCache
from starcast.claims.catalogue import Claim, size_order, sort_sizes
from starcast.claims.check import ClaimCheck, Evidence
from starcast.claims.verdict import Verdict, by_claim, claim_verdict, conjunction_verdict
from starcast.support import parallel
from starcast.support.errors import InputError, LimitError, RejectedError, StarcastError
from starcast.support.progress import Reporter, Silent
from starcast.support.vocabulary import LEVELS, Level
from starcast.topologies import memory, topology


def check(claim_id: str, level: Level = "quick", sizes: Sequence[str] | None = None) -> Verdict:
    """Verify one claim of a paper.

    Args:
        claim_id: id of the claim, such as ``TS.L5``.
        level: the level that selects the topologies on which the claim is verified: ``quick``
            (takes seconds), ``full`` or ``deep``.
        sizes: specs of topologies that replace the level, such as ``["S4", "S5"]``.

    Returns:
        The verdict, with the smallest counterexample of a claim that fails.

    Raises:
        InputError: the claim or the level is unknown, the claim does not apply to one of the sizes,
            or a check of your own paper pack raised an exception.
        LimitError: a size does not fit into memory.
        StarcastError: a check that comes with starcast raised an exception, which is a defect.

    Example:
        >>> check("TS.L6", sizes=["S4"]).verdict
        'holds as a bound'
    """
    claim = catalogue.find_claim(claim_id)
    objects = ObjectCache()
    evidence = [
        _run_check(part, spec, objects)
        for part in _resolve_conjunctions([claim])
        for spec in requested_sizes(part, level, sizes)
    ]
    (verdict,) = judge_claims([claim], evidence)
    return verdict


def run_check(
    claim: Claim, spec: str, objects: ObjectCache, recorder: type[ClaimCheck] = ClaimCheck
) -> Evidence:
    """Run the check of a claim on one topology, and return the evidence.

    Args:
        claim: a claim with a check.
        spec: the spec of the topology.
        objects: cache for the objects that the check uses.
        recorder: class of the recorder that is passed to the check.

    Raises:
        InputError: the claim is a conjunction.
        LimitError: the arrays of the topology do not fit into memory.
    """
    if claim.check is None:
        parts = ", ".join(claim.parts)
        raise InputError(
            f"{claim.id} has no check of its own, because it is a conjunction of other claims",
            hint=f"verify {parts}",
        )
    require_memory(claim, spec)
    begin = time.perf_counter()
    claim_check = recorder(topology(spec), objects, claim.correction)
    undefined = ""
    try:
        claim.check(claim_check)
    except (StarcastError, ArithmeticError, ValueError, IndexError) as error:
        # Outside the scope of the claim, a check may divide by zero or request a missing tree.
        if spec not in claim.sizes.beyond:
            raise
        reason = error.message if isinstance(error, StarcastError) else error
        undefined = f"not defined there ({reason})"
    # Findings that were recorded before the check stopped are kept as evidence.
    evidence = claim_check.evidence(claim.id, time.perf_counter() - begin)
    return replace(evidence, undefined=undefined)


def require_memory(claim: Claim, spec: str) -> None:
    """Check that the arrays for the verification of a claim on a topology fit into memory.

    Raises:
        LimitError: the arrays do not fit.
    """
    arrays = f"the arrays to verify {claim.id} on {spec}"
    memory.require(claim.required_bytes(spec), arrays, "choose smaller sizes")


def requested_sizes(
    claim: Claim, level: Level, sizes: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Return the specs on which to verify a claim: the given sizes, sorted, or those of a level.

    The result for a level begins with the sizes outside the claim's scope (`Sizes.beyond`).

    Raises:
        InputError: the level is unknown, no size is given, or the claim does not apply to one of
            the sizes.
    """
    if level not in LEVELS:
        raise InputError(f"unknown level '{level}'", hint=f"write one of {', '.join(LEVELS)}")
    if sizes is None:
        return (*claim.sizes.beyond, *claim.sizes.at(level))
    if not sizes or isinstance(sizes, str):
        raise InputError(
            f"{sizes!r} is not a list of one or more sizes",
            hint='write a list such as ["S4", "S5"]',
        )
    for spec in sizes:
        if not applies_to(claim, spec):
            quick = ", ".join(claim.sizes.quick)
            raise InputError(
                f"claim {claim.id} is not about {spec}", hint=f"verify the claim on {quick}"
            )
    return sort_sizes(sizes)


def applies_to(claim: Claim, spec: str) -> bool:
    """Return whether a claim is about a topology.

    A claim is about the sizes of its levels. If its levels have different sizes, the claim is also
    about all larger topologies of the same family.

    Raises:
        InputError: the spec does not name a topology.
    """
    size = topology(spec)
    own = [known for known in claim.sizes.deep if topology(known).family == size.family]
    if not own or size.spec in own:
        return bool(own)
    is_finite = claim.sizes.quick == claim.sizes.deep
    return not is_finite and size_order(size.spec) > max(map(size_order, own))


# Verification of many claims
#
# A task consists of the claims whose checks are in one module (a section), at one size. The claims
# of a task share an `ObjectCache`, and thus the objects that their checks use.


#: A claim, and the spec of a topology on which it is verified.
Pair = tuple[Claim, str]
#: Up to these numbers of pairs and bytes, starting processes would take longer than the checks.
_MANY_PAIRS = 60
_MANY_BYTES = 50_000_000
#: Claims that together need more than a quarter of the memory do not share a cache.
_MEMORY_SHARE = 4


@dataclass(frozen=True, eq=False)
class Task:
    """Claims of one section (module of checks), verified together on one topology.

    Attributes:
        size: spec of the topology.
        claim_ids: the ids of the claims, in the order in which they are verified.
    """

    size: str
    claim_ids: tuple[str, ...]

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of this task. A worker process must load the packs of these claims first."""
        return tuple(map(catalogue.find_claim, self.claim_ids))

    @cached_property
    def estimates(self) -> list[int]:
        """The estimated memory of each claim's check, in bytes.

        The sum of the estimates is an upper bound for the task, because the checks share objects.
        """
        return [claim.required_bytes(self.size) for claim in self.claims]

    def __str__(self) -> str:
        more = ", .." if len(self.claims) > 1 else ""
        return f"the check of {self.claims[0].id}{more} on {self.size}"

    def __reduce__(self) -> tuple[Callable[..., "Task"], tuple[Any, ...]]:
        # A worker process gets only the ids, because checks cannot be pickled.
        return Task, (self.size, self.claim_ids)


def plan_pairs(
    claims: Iterable[Claim], level: Level = "quick", sizes: Sequence[str] | None = None
) -> tuple[Pair, ...]:
    """Return the pairs (claim, spec) to verify, in the order of the given claims.

    Args:
        claims: the claims to verify; a conjunction is replaced by its parts.
        level: the level that selects the sizes of each claim. Sizes of the level ``deep`` that need
            too much memory are omitted.
        sizes: specs of topologies that replace the level. A claim is verified only on the sizes
            that it is about.

    Raises:
        InputError: the level or a size is unknown, or none of the claims applies to a given size.
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
            if single and not any(applies_to(claim, spec) for claim in single):
                # No claim is about this size. The call raises an error with a hint; otherwise the
                # size would be omitted silently.
                requested_sizes(single[0], level, [spec])
        pairs = [(claim, spec) for claim in single for spec in specs if applies_to(claim, spec)]
    for claim, spec in pairs:
        require_memory(claim, spec)
    return tuple(pairs)


def plan_tasks(pairs: Iterable[Pair]) -> list[Task]:
    """Group (claim, spec) pairs into tasks, sorted by descending memory estimate."""
    groups: dict[tuple[str, str], list[Claim]] = {}
    for claim, spec in pairs:
        groups.setdefault((claim.section, spec), []).append(claim)
    tasks = [task for (_, spec), claims in groups.items() for task in _split(claims, spec)]
    return sorted(tasks, key=lambda task: -sum(task.estimates))


def run_tasks(
    tasks: Sequence[Task],
    jobs: int | None,
    reporter: Reporter,
    executor: Executor | None = None,
) -> list[Evidence]:
    """Run tasks, and return their evidence in the order in which the tasks finish.

    Args:
        tasks: the result of `plan_tasks`.
        jobs: number of processes (default: one per core; a few small tasks run in this process).
        reporter: receives the progress.
        executor: executor that runs the tasks (default: processes on this machine).

    Raises:
        InputError: ``jobs`` is less than 1, or a check of a user's paper pack raised an exception.
        LimitError: a task does not fit into the free memory, or its processes were killed.
        StarcastError: a check that comes with starcast raised an exception, which is a defect.
    """
    pairs = sum(len(task.claims) for task in tasks)
    is_large = pairs > _MANY_PAIRS or sum(sum(task.estimates) for task in tasks) > _MANY_BYTES
    count = parallel.choose_jobs(len(tasks), jobs, worth_it=is_large)
    perform: Callable[[Task], tuple[Evidence, ...]] = run_task
    # Processes on this machine load plug-ins by name. The workers of a cluster load plug-ins from
    # packed source code.
    if (executor or count > 1) and not getattr(executor, "is_remote", False):
        perform = partial(_run_in_worker, plugins.loadable())
    work = parallel.Workload(
        perform, lambda task: sum(task.estimates), memory.available, _require_free_memory, str
    )
    evidence: list[Evidence] = []
    with (
        reporter.task("verifying claims", pairs, "checks") as progress,
        parallel.run_parallel(tasks, work, executor, count) as results,
    ):
        for _, found in results:
            progress.advance(len(found))
            evidence += found
    return evidence


def _run_in_worker(plugin_names: tuple[str, ...], task: Task) -> tuple[Evidence, ...]:
    plugins.load_once(plugin_names)
    return run_task(task)


def run_task(task: Task) -> tuple[Evidence, ...]:
    """Verify the claims of a task with one shared object cache, and return their evidence.

    Raises:
        InputError: a check of a user's paper pack raised an exception.
        LimitError: a check does not fit into memory, or memory was exhausted.
        StarcastError: a check that comes with starcast raised an exception, which is a defect.
    """
    objects = ObjectCache()
    return tuple(_run_check(claim, task.size, objects) for claim in task.claims)


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
        claims: the claims to verify; a conjunction is replaced by its parts.
        level: the level that selects the sizes of each claim: ``quick``, ``full`` or ``deep``.
        sizes: specs of topologies that replace the level.
        jobs: number of processes (default: one per core; a few small tasks run in this process).
        reporter: receives the progress.
        executor: executor that runs the checks (default: processes on this machine).

    Returns:
        The verdicts, as `judge_claims` returns them.

    Raises:
        InputError, LimitError, StarcastError: as described for `plan_pairs` and `run_tasks`.

    Example:
        >>> from starcast.claims import select_claims
        >>> [verdict.verdict for verdict in verify_claims(select_claims(["TS.L6"]), sizes=["S4"])]
        ['holds as a bound']
    """
    tasks = plan_tasks(plan_pairs(claims, level, sizes))
    return judge_claims(claims, run_tasks(tasks, jobs, reporter or Silent(), executor))


def judge_claims(claims: Iterable[Claim], evidence: Iterable[Evidence]) -> tuple[Verdict, ...]:
    """Return the verdicts on the claims that have evidence, in the order of the claims.

    A conjunction has evidence if all of its parts have evidence.
    """
    found = by_claim(evidence)
    return tuple(
        _judge(claim, found) for claim in claims if found.keys() >= set(claim.parts or (claim.id,))
    )


def _judge(claim: Claim, evidence: Mapping[str, Sequence[Evidence]]) -> Verdict:
    if claim.check is not None:
        return claim_verdict(claim, evidence[claim.id])
    parts = [_judge(catalogue.find_claim(part), evidence) for part in claim.parts]
    return conjunction_verdict(claim.id, parts)


def _run_check(claim: Claim, spec: str, objects: ObjectCache) -> Evidence:
    try:
        return run_check(claim, spec, objects)
    except (InputError, RejectedError) as error:
        # A mistake in a check, such as an unknown construction, is reported with its line.
        place = next(filter(None, (packs.locate(error, pack) for pack in packs.loaded())), "")
        if not place or error.message.startswith(place):
            raise
        reason = f"{place}: the check of {claim.id} failed on {spec}: {error.message}"
        raise type(error)(reason, hint=error.hint) from error
    except StarcastError:
        raise
    except MemoryError:
        raise LimitError(
            f"memory was exhausted while verifying {claim.id} on {spec}",
            hint="use fewer `jobs`, or smaller `sizes`",
        ) from None
    # SystemExit is also caught: sys.exit() in a check would end the command as if it had succeeded.
    except (Exception, SystemExit) as error:
        reason = f"the check of {claim.id} failed on {spec}: {type(error).__name__}: {error}"
        for pack in packs.loaded():
            if place := packs.locate(error, pack):
                raise InputError(
                    f"{place}: {reason}",
                    hint="correct the check and verify again; this run gives no verdicts",
                ) from error
        raise StarcastError(
            reason, hint="this is a defect of starcast: please report it"
        ) from error


def _resolve_conjunctions(claims: Iterable[Claim]) -> list[Claim]:
    """Replace conjunctions by their parts; return each claim once."""
    single: dict[str, Claim] = {}
    for claim in claims:
        parts = [catalogue.find_claim(part) for part in claim.parts] or [claim]
        single |= {part.id: part for part in parts}
    return list(single.values())


def _split(claims: Sequence[Claim], spec: str) -> Iterator[Task]:
    """Yield one task for claims on a topology, or several if one would need too much memory."""
    limit = memory.physical() // _MEMORY_SHARE
    together: list[Claim] = []
    used = 0
    for claim in claims:
        required = claim.required_bytes(spec)
        if together and used + required > limit:
            yield Task(spec, tuple(each.id for each in together))
            together, used = [], 0
        together.append(claim)
        used += required
    yield Task(spec, tuple(each.id for each in together))


def _require_free_memory(task: Task, free: int) -> None:
    # A task that runs alone may start if its largest check fits. `run_parallel` starts a task next
    # to others only if the sum of its estimates fits too.
    required = max(task.estimates)
    if required > free:
        claims = ", ".join(claim.id for claim in task.claims[:3])
        raise LimitError(
            f"verifying {claims} on {task.size} needs about {required / 1e9:,.1f} GB of memory,"
            f" but only {free / 1e9:,.1f} GB are free",
            hint="choose smaller `sizes`, or another `level`",
        )
