"""Many statements at a time: what is looked at, in which order, with whom, and what is refused."""

import multiprocessing
from dataclasses import replace

import pytest

from starcast.claims import Claim, catalogue, find_claim, parallel, select_claims
from starcast.claims.check import ClaimCheck
from starcast.claims.evidence import Evidence
from starcast.claims.model import family_sizes, only
from starcast.claims.parallel import Task
from starcast.claims.verify import applies_to, requested_sizes
from starcast.errors import InputError, LimitError, StarcastError
from starcast.progress import Silent
from starcast.progress import Task as Bar
from starcast.topologies import memory

SIZES = ["S3", "S4"]
FEW = select_claims(["TS.L5", "TS.h"])


@pytest.fixture
def test_claims(monkeypatch: pytest.MonkeyPatch) -> dict[str, Claim]:
    """A catalogue of one's own: what is put into it is all there is."""
    known: dict[str, Claim] = {}
    monkeypatch.setattr(catalogue, "claims", lambda: known)
    return known


def test_a_statement_is_looked_at_at_its_sizes_and_beyond() -> None:
    five = find_claim("TS.L5")
    assert parallel.plan_pairs([five]) == tuple(
        ("TS.L5", spec) for spec in (*five.sizes.beyond, *five.sizes.quick)
    )


def test_sizes_that_are_asked_for_are_in_their_order_and_each_once() -> None:
    assert parallel.plan_pairs([find_claim("TS.L5")], sizes=["S5", "S3", "S4", "S3"]) == (
        ("TS.L5", "S3"), ("TS.L5", "S4"), ("TS.L5", "S5"),
    )  # fmt: skip


def test_of_several_statements_each_is_looked_at_where_it_applies_to() -> None:
    stars_only, cubes_only = (
        find_claim("TS.L5"),
        replace(find_claim("TS.L5"), id="TS.h", sizes=only("Q3")),
    )
    assert parallel.plan_pairs([stars_only, cubes_only], sizes=["S3", "Q3"]) == (
        ("TS.L5", "S3"),
        ("TS.h", "Q3"),
    )
    with pytest.raises(InputError, match=r"TS.L5 is not about S4,2"):
        parallel.plan_pairs([stars_only, cubes_only], sizes=["S3", "S4,2"])


def test_a_statement_speaks_of_its_sizes_and_of_larger_ones_unless_it_names_them() -> None:
    five = replace(find_claim("TS.L5"), sizes=family_sizes("star", 4, 5, 6))
    assert [spec for spec in ("S2", "S3", "S6", "S9", "Q3", "S4,2") if applies_to(five, spec)] == [
        "S3",
        "S6",
        "S9",
    ]
    named = replace(five, sizes=only("S4"))
    assert [spec for spec in ("S3", "S4", "S5") if applies_to(named, spec)] == ["S4"]
    with pytest.raises(InputError, match=r"TS.L5 is not about S2"):
        requested_sizes(five, "quick", ["S2"])


def test_a_conjunction_stands_for_its_parts() -> None:
    pairs = parallel.plan_pairs([find_claim("TS.T1")], sizes=["S3"])
    assert {name for name, _ in pairs} <= {"TS.T1.time", "TS.T1.order"}


def test_what_does_not_fit_is_refused_and_left_out_of_the_deep_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    five = find_claim("TS.L5")
    with pytest.raises(LimitError, match=r"to verify TS.L5 on S12 take about .* GB"):
        parallel.plan_pairs([five], sizes=["S12"])
    monkeypatch.setattr(memory, "physical", lambda: five.required_bytes("S6"))
    assert [spec for _, spec in parallel.plan_pairs([five], "deep")] == [
        "S2",
        "S3",
        "S4",
        "S5",
        "S6",
    ]
    with pytest.raises(LimitError):
        parallel.plan_pairs([five], "quick")


def test_tasks_are_families_at_sizes_the_longest_first() -> None:
    made = parallel.plan_tasks(parallel.plan_pairs(FEW, sizes=SIZES))
    families = {one.section for one in FEW}
    assert [task.size for task in made] == ["S4"] * len(families) + ["S3"] * len(families)
    assert sorted(name for task in made if task.size == "S3" for name in task.claims) == sorted(
        one.id for one in FEW
    )
    assert [task.total_bytes for task in made] == sorted(
        (task.total_bytes for task in made), reverse=True
    )


def test_what_is_known_is_no_task() -> None:
    pairs = parallel.plan_pairs(FEW, sizes=SIZES)
    left = parallel.plan_tasks(pairs, set(pairs[1:]))
    assert [(task.size, task.claims) for task in left] == [(pairs[0][1], (pairs[0][0],))]
    assert parallel.plan_tasks(pairs, set(pairs)) == []


def test_statements_that_are_too_large_together_share_no_lab(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pairs = parallel.plan_pairs(select_claims(["TS.L5"]), sizes=["S5"])
    alone = max(find_claim(name).required_bytes("S5") for name, _ in pairs)
    monkeypatch.setattr(memory, "physical", lambda: 4 * alone)
    assert sorted(task.claims for task in parallel.plan_tasks(pairs)) == sorted(
        (name,) for name, _ in pairs
    )


class Bars(Silent):
    """A reporter that counts."""

    def __init__(self) -> None:
        self.total = self.done = 0

    def task(self, text: str, total: int, unit: str = "") -> "Bars":  # type: ignore[override]
        """A task: itself."""
        del text, unit
        self.total = total
        return self

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def advance(self, amount: int = 1) -> None:
        """Count."""
        self.done += amount


def test_several_processes_find_what_one_does() -> None:
    """And nobody is left; progress is told either way."""
    found: list[set[Evidence]] = []
    todo = parallel.plan_tasks(parallel.plan_pairs(FEW, sizes=SIZES))
    for jobs in (1, 2):
        bars = Bars()
        with parallel.run_tasks(todo, jobs, bars) as done:
            evidence = [one for some in done for one in some]
        found.append(sorted(evidence, key=lambda one: (one.claim, one.size)))  # type: ignore[arg-type]
        assert bars.done == bars.total == len(evidence)
    assert found[0] == found[1]
    assert multiprocessing.active_children() == []


def test_the_verdicts_of_a_ledger_are_those_of_check() -> None:
    from starcast import check

    for verdict in parallel.verify_claims(FEW, sizes=SIZES):
        alone = check(verdict.claim, sizes=SIZES)
        assert (verdict.verdict, verdict.sizes, verdict.counterexample) == (
            alone.verdict,
            alone.sizes,
            alone.counterexample,
        )


def test_no_verdict_without_evidence_and_none_of_a_conjunction_without_all_parts() -> None:
    with parallel.run_tasks(
        parallel.plan_tasks(parallel.plan_pairs([find_claim("TS.L5")], sizes=["S3"])), 1, Silent()
    ) as done:
        evidence = [one for some in done for one in some]
    assert [
        one.claim
        for one in parallel.judge_claims([find_claim("TS.L5"), find_claim("TS.T1")], evidence)
    ] == ["TS.L5"]


def test_no_jobs_cannot_work() -> None:
    todo = parallel.plan_tasks(parallel.plan_pairs([find_claim("TS.L5")], sizes=["S3"]))
    with (
        pytest.raises(InputError, match="0 jobs cannot work"),
        parallel.run_tasks(todo, 0, Silent()),
    ):
        pytest.fail("it began")


def test_a_check_that_fails_is_named(test_claims: dict[str, Claim]) -> None:
    def broken(check: ClaimCheck) -> None:
        raise ZeroDivisionError(check.topology.spec)

    test_claims["TS.L5"] = Claim(
        "TS.L5", "", "", family_sizes("star", 6, 7, 8), broken, section="test"
    )
    with pytest.raises(
        StarcastError, match=r"the check of TS.L5 failed on S3: ZeroDivisionError: S3"
    ):
        parallel.run_task(Task("S3", ("TS.L5",), 0, 0))

    def greedy(check: ClaimCheck) -> None:
        raise MemoryError(check.topology.spec)

    test_claims["TS.L5"] = Claim(
        "TS.L5", "", "", family_sizes("star", 6, 7, 8), greedy, section="test"
    )
    with pytest.raises(LimitError, match=r"memory was exhausted while verifying TS.L5 on S3"):
        parallel.run_task(Task("S3", ("TS.L5",), 0, 0))


def test_what_does_not_fit_beside_nothing_is_refused_when_its_turn_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    todo = parallel.plan_tasks(parallel.plan_pairs(FEW, sizes=SIZES))
    monkeypatch.setattr(memory, "available", lambda: todo[0].required_bytes - 1)
    with (
        pytest.raises(LimitError, match=rf"on {todo[0].size} need about"),
        parallel.run_tasks(todo, 2, Silent()) as done,
    ):
        next(done)
    assert multiprocessing.active_children() == []


def test_free_memory_is_some_of_what_there_is() -> None:
    assert 0 < memory.available() < memory.physical()
