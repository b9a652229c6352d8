"""Verification of many claims: planned sizes and tasks, worker processes, and errors."""

import multiprocessing
from dataclasses import replace

import pytest

from starcast.claims import Claim, catalogue, find_claim, select_claims, verify
from starcast.claims.catalogue import family_sizes, only
from starcast.claims.check import ClaimCheck, Evidence
from starcast.claims.registry import Memory, all_pairs, unless_symmetric
from starcast.claims.verify import Task, applies_to, requested_sizes
from starcast.support.errors import InputError, LimitError, StarcastError
from starcast.support.progress import Silent
from starcast.topologies import memory, topology
from support.recorder import Recorder

SIZES = ["S3", "S4"]
CLAIMS = select_claims(["TS.L5", "TS.h"])


def test_each_claim_is_verified_once_per_requested_size_to_which_it_applies() -> None:
    on_stars = find_claim("TS.L5")
    both = [on_stars, replace(on_stars, id="TS.h", sizes=only("Q3"))]
    planned = verify.plan_pairs(both, sizes=["S5", "S3", "Q3", "S3"])
    assert [(claim.id, spec) for claim, spec in planned] == [
        ("TS.L5", "S3"), ("TS.L5", "S5"), ("TS.h", "Q3")
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"TS.L5 is not about S4,2"):
        verify.plan_pairs(both, sizes=["S3", "S4,2"])
    assert verify.plan_pairs([], sizes=["S3"]) == ()


def test_a_claim_applies_to_other_sizes_of_its_family_unless_it_lists_its_sizes() -> None:
    lemma5 = replace(find_claim("TS.L5"), sizes=family_sizes("star", 4, 5, 6))
    specs = ("S2", "S3", "S6", "S9", "Q3", "S4,2")
    assert [spec for spec in specs if applies_to(lemma5, spec)] == ["S3", "S6", "S9"]
    named = replace(lemma5, sizes=only("S4"))
    assert [spec for spec in ("S3", "S4", "S5") if applies_to(named, spec)] == ["S4"]
    with pytest.raises(InputError, match=r"TS.L5 is not about S2"):
        requested_sizes(lemma5, "quick", ["S2"])


def test_a_topology_that_exceeds_memory_is_omitted_at_level_deep_and_otherwise_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lemma5 = find_claim("TS.L5")
    with pytest.raises(LimitError, match=r"to verify TS.L5 on S12: about .* GB"):
        verify.plan_pairs([lemma5], sizes=["S12"])
    monkeypatch.setattr(memory, "physical", lambda: lemma5.required_bytes("S6"))
    planned = [spec for _, spec in verify.plan_pairs([lemma5], "deep")]
    assert planned == ["S2", "S3", "S4", "S5", "S6"]
    with pytest.raises(LimitError):
        verify.plan_pairs([lemma5], "quick")


def test_the_memory_of_a_check_is_estimated_per_link_or_per_pair_of_nodes() -> None:
    links = Memory(10, power=2)
    assert links.required(topology("S4")) == 24 * 10 * 3**2
    assert Memory(10, power=0, of_pairs=all_pairs).required(topology("S4")) == 24**2 * 10
    unsymmetric = Memory(10, of_pairs=unless_symmetric)
    assert unsymmetric.required(topology("S4,3")) == 24 * 10 * 3
    assert unsymmetric.required(topology("S4,2")) == 12**2 * 10 * 3


def test_tasks_group_claims_by_section_and_size_and_are_sorted_by_estimated_memory() -> None:
    tasks = verify.plan_tasks(verify.plan_pairs(CLAIMS, sizes=SIZES))
    sections = {claim.section for claim in CLAIMS}
    assert [task.size for task in tasks] == ["S4"] * len(sections) + ["S3"] * len(sections)
    assert {claim for task in tasks if task.size == "S3" for claim in task.claims} == {*CLAIMS}
    estimates = [sum(task.estimates) for task in tasks]
    assert estimates == sorted(estimates, reverse=True)


def test_claims_that_need_too_much_memory_together_are_separate_tasks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pairs = verify.plan_pairs(select_claims(["TS.L5"]), sizes=["S5"])
    alone = max(claim.required_bytes("S5") for claim, _ in pairs)
    monkeypatch.setattr(memory, "physical", lambda: 4 * alone)
    assert {task.claims for task in verify.plan_tasks(pairs)} == {(claim,) for claim, _ in pairs}


def test_two_processes_return_the_same_evidence_as_one_process() -> None:
    """Runs with one and with two processes report progress, and no worker process remains."""
    found: list[list[Evidence]] = []
    todo = verify.plan_tasks(verify.plan_pairs(CLAIMS, sizes=SIZES))
    for jobs in (1, 2):
        reporter = Recorder()
        evidence = verify.run_tasks(todo, jobs, reporter)
        found.append(sorted(evidence, key=lambda one: (one.claim, one.size)))
        (task,) = reporter.tasks
        assert task.done == task.total == len(evidence)
    assert found[0] == found[1]
    backwards = verify.judge_claims(CLAIMS, reversed(found[0]))
    assert verify.judge_claims(CLAIMS, found[0]) == backwards
    assert multiprocessing.active_children() == []


def test_verify_claims_and_check_return_the_same_verdicts() -> None:
    from starcast import check

    for verdict in verify.verify_claims(CLAIMS, sizes=SIZES):
        assert verdict == check(verdict.claim, sizes=SIZES)


def test_a_claim_of_several_parts_has_no_verdict_if_a_part_lacks_evidence() -> None:
    tasks = verify.plan_tasks(verify.plan_pairs([find_claim("TS.L5")], sizes=["S3"]))
    evidence = verify.run_tasks(tasks, 1, Silent())
    assert [
        one.claim
        for one in verify.judge_claims([find_claim("TS.L5"), find_claim("TS.T1")], evidence)
    ] == ["TS.L5"]


@pytest.mark.parametrize(
    ("raised", "error", "message"),
    [
        (ZeroDivisionError("why"), StarcastError, "of TS.L5 failed on S3: ZeroDivisionError: why"),
        (MemoryError(), LimitError, "memory was exhausted while verifying TS.L5 on S3"),
    ],
)
def test_an_exception_in_a_claim_check_is_reported_with_claim_and_topology(
    raised: Exception,
    error: type[StarcastError],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(_: ClaimCheck) -> None:
        raise raised

    claim = Claim("TS.L5", "", "", only("S3"), broken, section="test")
    monkeypatch.setattr(catalogue, "find_claim", lambda _: claim)
    with pytest.raises(error, match=message):
        verify.run_task(Task("S3", ("TS.L5",)))


def test_a_task_that_exceeds_the_free_memory_is_refused_when_it_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    todo = verify.plan_tasks(verify.plan_pairs(CLAIMS, sizes=SIZES))
    monkeypatch.setattr(memory, "available", lambda: max(todo[0].estimates) - 1)
    with pytest.raises(LimitError, match=rf"on {todo[0].size} needs about"):
        verify.run_tasks(todo, 2, Silent())
    assert multiprocessing.active_children() == []


def test_available_memory_is_less_than_physical_memory() -> None:
    assert 0 < memory.available() < memory.physical()
