"""Looking at many statements: in processes of their own where that is worth it, a family at one size at a time.

Statements of one family at one size share a `Lab`, and so what they build. What is known already is not looked at again.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from starcast.claims import catalogue
from starcast.claims.checking import asked, look, speaks_of, verdicts
from starcast.claims.declaration import Claim, Level, in_order
from starcast.claims.evidence import Evidence
from starcast.claims.lab import Lab
from starcast.claims.statements import parts
from starcast.claims.verdict import Verdict
from starcast.errors import LimitError, StarcastError
from starcast.progress import Reporter, Silent
from starcast.support import processes
from starcast.topologies import memory, topology

#: A statement at a size.
Pair = tuple[str, str]
#: With fewer of both, processes take longer to start than to do the work: pairs, and bytes that they take in all.
_MANY, _MUCH = 60, 50_000_000
#: Statements that take more together than this share of the memory share no lab.
_SHARE = 4


@dataclass(frozen=True)
class Task:
    """Statements of one family, looked at together at one size.

    Attributes:
        size: the topology.
        claims: their ids, in the order of the family.
        needed: the bytes that they take, about, if they share nothing.
        least: the bytes that the greediest of them takes.
    """

    size: str
    claims: tuple[str, ...]
    needed: int
    least: int


def wanted(
    claims: Iterable[Claim], level: Level = "quick", sizes: Sequence[str] | None = None
) -> tuple[Pair, ...]:
    """The statements with a check of their own behind these, each with the sizes to look at, in the order of the papers.

    Args:
        claims: which; a conjunction stands for its parts.
        level: up to which sizes.
        sizes: instead, the topologies to look at: each statement at those of which it speaks, in the order of n and k.

    Raises:
        InputError: there is no such level or size, or none of the statements speaks of a size.
        LimitError: a size does not fit into the memory of this machine; of the level ``deep`` such sizes are left out.
    """
    chosen = _alone(claims)
    if sizes is not None:
        given = sorted({topology(spec).spec for spec in sizes}, key=in_order)
        for spec in given:
            if not any(speaks_of(claim, spec) for claim in chosen):
                asked(chosen[0], level, [spec])  # says why
        pairs = [(claim, spec) for claim in chosen for spec in given if speaks_of(claim, spec)]
    else:
        pairs = [(claim, spec) for claim in chosen for spec in asked(claim, level)]
    if sizes is None and level == "deep":
        pairs = [(claim, spec) for claim, spec in pairs if claim.needs(spec) <= memory.physical()]
    for claim, spec in pairs:
        memory.require(
            claim.needs(spec),
            f"the arrays that {claim.id} looks at on {spec}",
            "take smaller sizes",
        )
    return tuple((claim.id, spec) for claim, spec in pairs)


def tasks(pairs: Iterable[Pair], known: Collection[Pair] = ()) -> list[Task]:
    """What is left to look at, family by family and size by size, the longest first by what it is estimated to take."""
    together: dict[tuple[str, str], list[Claim]] = {}
    for name, spec in pairs:
        if (name, spec) not in known:
            one = catalogue.claim(name)
            together.setdefault((one.family, spec), []).append(one)
    made = [task for (_, spec), claims in together.items() for task in _shared(claims, spec)]
    return sorted(made, key=lambda task: -task.needed)


@contextmanager
def looking(
    todo: Sequence[Task], jobs: int | None, reporter: Reporter
) -> Iterator[Iterator[tuple[Evidence, ...]]]:
    """What is found, task by task as they finish.

    Args:
        todo: what `tasks` left to look at.
        jobs: processes at work at once; one a core unless given, none beside this one where there is little to do.
        reporter: hears how far it is.

    Raises:
        InputError: there are no jobs.
        LimitError: a task does not fit into the memory that is free, or a process was ended from outside; what was finished
            before has been given.
        StarcastError: a check of ours failed, which is a defect.
    """
    pairs = sum(len(task.claims) for task in todo)
    much = pairs > _MANY or sum(task.needed for task in todo) > _MUCH
    count = processes.choose_jobs(len(todo), jobs, worth_it=much)
    with reporter.task("looking at statements", pairs, "checks") as bar:

        def told(found: Iterable[tuple[Evidence, ...]]) -> Iterator[tuple[Evidence, ...]]:
            for evidence in found:
                bar.advance(len(evidence))
                yield evidence

        if count == 1:
            yield told(map(perform, todo))
            return
        work = processes.Workload(perform, lambda task: task.needed, memory.available, _demand)
        with processes.run_parallel(todo, work, count) as done:
            yield told(evidence for _, evidence in done)


def perform(task: Task) -> tuple[Evidence, ...]:
    """Look at the statements of a task, with one lab for all of them.

    Raises:
        LimitError: memory ran out.
        StarcastError: a check of ours failed, which is a defect.
    """
    lab = Lab()
    return tuple(_looked(catalogue.claim(name), task.size, lab) for name in task.claims)


def ledger(
    claims: Sequence[Claim],
    level: Level = "quick",
    sizes: Sequence[str] | None = None,
    jobs: int | None = None,
    reporter: Reporter | None = None,
) -> tuple[Verdict, ...]:
    """The verdicts of these statements, computed here and now and stored nowhere.

    Args:
        claims: which.
        level: up to which sizes.
        sizes: instead, the topologies to look at.
        jobs: as in `looking`.
        reporter: hears how far it is.
    """
    with looking(tasks(wanted(claims, level, sizes)), jobs, reporter or Silent()) as found:
        evidence = [one for some in found for one in some]
    return judged(claims, evidence)


def judged(claims: Iterable[Claim], evidence: Iterable[Evidence]) -> tuple[Verdict, ...]:
    """The verdicts of those statements that are among the evidence, or all of whose parts are."""
    found = list(evidence)
    seen = {one.claim for one in found}
    whole = [
        claim for claim in claims if all(name in seen for name in parts(claim.id) or (claim.id,))
    ]
    return tuple(verdicts(whole, found).values())


def _looked(claim: Claim, spec: str, lab: Lab) -> Evidence:
    try:
        return look(claim, spec, lab)
    except StarcastError:
        raise
    except MemoryError:
        raise LimitError(
            f"memory ran out while {claim.id} was looked at on {spec}",
            hint="take fewer --jobs, or smaller --sizes",
        ) from None
    except Exception as error:
        raise StarcastError(
            f"the check of {claim.id} failed on {spec}: {type(error).__name__}: {error}",
            hint="please report it",
        ) from error


def _alone(claims: Iterable[Claim]) -> list[Claim]:
    """The statements that have a check of their own: a conjunction's parts instead of it, each once."""
    below = (
        [catalogue.claims()[part] for part in parts(claim.id) if part in catalogue.claims()]
        if claim.check is None
        else [claim]
        for claim in claims
    )
    return list({claim.id: claim for some in below for claim in some}.values())


def _shared(claims: Sequence[Claim], spec: str) -> Iterator[Task]:
    """Tasks for statements of one family at one size: one, unless it would take a great part of the memory."""
    room = memory.physical() // _SHARE
    waiting = Task(spec, (), 0, 0)
    for claim in claims:
        needs = claim.needs(spec)
        if waiting.claims and waiting.needed + needs > room:
            yield waiting
            waiting = Task(spec, (), 0, 0)
        waiting = replace(
            waiting,
            claims=(*waiting.claims, claim.id),
            needed=waiting.needed + needs,
            least=max(waiting.least, needs),
        )
    if waiting.claims:
        yield waiting


def _demand(task: Task, free: int) -> None:
    if task.least > free:
        raise LimitError(
            f"{', '.join(task.claims[:3])} on {task.size} need about {task.least / 1e9:,.1f} GB of memory,"
            f" {free / 1e9:,.1f} GB are free",
            hint="take smaller --sizes, or another --level",
        )
