"""Measure the time to verify all claims at quick sizes, with two processes."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from time import perf_counter

from benchmarks.measure import Figure
from starcast.claims import claims, verify
from starcast.support.progress import Silent

_JOBS = 2
_SLOWEST = 10


def figures() -> Iterator[Figure]:
    """Yield the total time, the time per section, and the times of the slowest claims.

    If several checks use an object, its build time is counted for the first of these checks.
    """
    begin = perf_counter()
    tasks = verify.plan_tasks(verify.plan_pairs(claims().values()))
    evidence = verify.run_tasks(tasks, _JOBS, Silent())
    elapsed = perf_counter() - begin
    total = sum(one.seconds for one in evidence)
    what = f"verification of {len(claims())} claims, quick: total"
    yield Figure(what, elapsed, "s", "< 120", "half of all checks", total / _JOBS)
    by_claim, by_section = defaultdict[str, float](float), defaultdict[str, float](float)
    for one in evidence:
        by_claim[one.claim] += one.seconds
        by_section[claims()[one.claim].section] += one.seconds
    for section, seconds in _greatest(by_section):
        yield Figure(f"section {section}", seconds, "s", "< 12", "all checks", total)
    for name, seconds in _greatest(by_claim)[:_SLOWEST]:
        yield Figure(f"claim {name}", seconds, "s", "< 3", "all checks", total)


def _greatest(seconds: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(seconds.items(), key=lambda pair: -pair[1])
