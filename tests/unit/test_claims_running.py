"""Many statements at a time: what is looked at, in which order, with whom, and what is refused."""

import multiprocessing
from dataclasses import replace

import pytest

from starcast.claims import Claim, catalogue, chosen, claim, running
from starcast.claims.checking import asked, speaks_of
from starcast.claims.declaration import only, stars
from starcast.claims.evidence import Evidence
from starcast.claims.running import Task
from starcast.claims.see import See
from starcast.errors import InputError, LimitError, StarcastError
from starcast.progress import Silent
from starcast.progress import Task as Bar
from starcast.topologies import memory

SIZES = ["S3", "S4"]
FEW = chosen(["TS.L5", "TS.h"])


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> dict[str, Claim]:
    """A catalogue of one's own: what is put into it is all there is."""
    known: dict[str, Claim] = {}
    monkeypatch.setattr(catalogue, "claims", lambda: known)
    return known


def test_a_statement_is_looked_at_at_its_sizes_and_beyond() -> None:
    five = claim("TS.L5")
    assert running.wanted([five]) == tuple(
        ("TS.L5", spec) for spec in (*five.sizes.beyond, *five.sizes.quick)
    )


def test_sizes_that_are_asked_for_are_in_their_order_and_each_once() -> None:
    assert running.wanted([claim("TS.L5")], sizes=["S5", "S3", "S4", "S3"]) == (
        ("TS.L5", "S3"), ("TS.L5", "S4"), ("TS.L5", "S5"),
    )  # fmt: skip


def test_of_several_statements_each_is_looked_at_where_it_speaks_of() -> None:
    stars_only, cubes_only = claim("TS.L5"), replace(claim("TS.L5"), id="TS.h", sizes=only("Q3"))
    assert running.wanted([stars_only, cubes_only], sizes=["S3", "Q3"]) == (
        ("TS.L5", "S3"),
        ("TS.h", "Q3"),
    )
    with pytest.raises(InputError, match=r"TS.L5 says nothing about S4,2"):
        running.wanted([stars_only, cubes_only], sizes=["S3", "S4,2"])


def test_a_statement_speaks_of_its_sizes_and_of_larger_ones_unless_it_names_them() -> None:
    five = replace(claim("TS.L5"), sizes=stars(4, 5, 6))
    assert [spec for spec in ("S2", "S3", "S6", "S9", "Q3", "S4,2") if speaks_of(five, spec)] == [
        "S3",
        "S6",
        "S9",
    ]
    named = replace(five, sizes=only("S4"))
    assert [spec for spec in ("S3", "S4", "S5") if speaks_of(named, spec)] == ["S4"]
    with pytest.raises(InputError, match=r"TS.L5 says nothing about S2"):
        asked(five, "quick", ["S2"])


def test_a_conjunction_stands_for_its_parts() -> None:
    pairs = running.wanted([claim("TS.T1")], sizes=["S3"])
    assert {name for name, _ in pairs} <= {"TS.T1.time", "TS.T1.order"}


def test_what_does_not_fit_is_refused_and_left_out_of_the_deep_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    five = claim("TS.L5")
    with pytest.raises(LimitError, match=r"TS.L5 looks at on S12 take about .* GB"):
        running.wanted([five], sizes=["S12"])
    monkeypatch.setattr(memory, "physical", lambda: five.needs("S6"))
    assert [spec for _, spec in running.wanted([five], "deep")] == ["S2", "S3", "S4", "S5", "S6"]
    with pytest.raises(LimitError):
        running.wanted([five], "quick")


def test_tasks_are_families_at_sizes_the_longest_first() -> None:
    made = running.tasks(running.wanted(FEW, sizes=SIZES))
    families = {one.family for one in FEW}
    assert [task.size for task in made] == ["S4"] * len(families) + ["S3"] * len(families)
    assert sorted(name for task in made if task.size == "S3" for name in task.claims) == sorted(
        one.id for one in FEW
    )
    assert [task.needed for task in made] == sorted((task.needed for task in made), reverse=True)


def test_what_is_known_is_no_task() -> None:
    pairs = running.wanted(FEW, sizes=SIZES)
    left = running.tasks(pairs, set(pairs[1:]))
    assert [(task.size, task.claims) for task in left] == [(pairs[0][1], (pairs[0][0],))]
    assert running.tasks(pairs, set(pairs)) == []


def test_statements_that_are_too_large_together_share_no_lab(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pairs = running.wanted(chosen(["TS.L5"]), sizes=["S5"])
    alone = max(claim(name).needs("S5") for name, _ in pairs)
    monkeypatch.setattr(memory, "physical", lambda: 4 * alone)
    assert sorted(task.claims for task in running.tasks(pairs)) == sorted(
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
    todo = running.tasks(running.wanted(FEW, sizes=SIZES))
    for jobs in (1, 2):
        bars = Bars()
        with running.looking(todo, jobs, bars) as done:
            evidence = [one for some in done for one in some]
        found.append(sorted(evidence, key=lambda one: (one.claim, one.size)))  # type: ignore[arg-type]
        assert bars.done == bars.total == len(evidence)
    assert found[0] == found[1]
    assert multiprocessing.active_children() == []


def test_the_verdicts_of_a_ledger_are_those_of_check() -> None:
    from starcast import check

    for verdict in running.ledger(FEW, sizes=SIZES):
        alone = check(verdict.claim, sizes=SIZES)
        assert (verdict.verdict, verdict.sizes, verdict.counterexample) == (
            alone.verdict,
            alone.sizes,
            alone.counterexample,
        )


def test_no_verdict_without_evidence_and_none_of_a_conjunction_without_all_parts() -> None:
    with running.looking(
        running.tasks(running.wanted([claim("TS.L5")], sizes=["S3"])), 1, Silent()
    ) as done:
        evidence = [one for some in done for one in some]
    assert [one.claim for one in running.judged([claim("TS.L5"), claim("TS.T1")], evidence)] == [
        "TS.L5"
    ]


def test_no_jobs_cannot_work() -> None:
    todo = running.tasks(running.wanted([claim("TS.L5")], sizes=["S3"]))
    with pytest.raises(InputError, match="the number of jobs is 0, less than 1"), running.looking(todo, 0, Silent()):
        pytest.fail("it began")


def test_a_check_that_fails_is_named(made_up: dict[str, Claim]) -> None:
    def broken(see: See) -> None:
        raise ZeroDivisionError(see.where.spec)

    made_up["TS.L5"] = Claim("TS.L5", "", "", stars(), broken, family="made up")
    with pytest.raises(
        StarcastError, match=r"the check of TS.L5 failed on S3: ZeroDivisionError: S3"
    ):
        running.perform(Task("S3", ("TS.L5",), 0, 0))

    def greedy(see: See) -> None:
        raise MemoryError(see.where.spec)

    made_up["TS.L5"] = Claim("TS.L5", "", "", stars(), greedy, family="made up")
    with pytest.raises(LimitError, match=r"memory ran out while TS.L5 was looked at on S3"):
        running.perform(Task("S3", ("TS.L5",), 0, 0))


def test_what_does_not_fit_beside_nothing_is_refused_when_its_turn_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    todo = running.tasks(running.wanted(FEW, sizes=SIZES))
    monkeypatch.setattr(memory, "available", lambda: todo[0].least - 1)
    with (
        pytest.raises(LimitError, match=rf"on {todo[0].size} need about"),
        running.looking(todo, 2, Silent()) as done,
    ):
        next(done)
    assert multiprocessing.active_children() == []


def test_free_memory_is_some_of_what_there_is() -> None:
    assert 0 < memory.available() < memory.physical()
