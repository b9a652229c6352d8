"""The derivation of verdicts from evidence, and the description of verdicts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from starcast import StarcastError, check, topology
from starcast.claims import verify
from starcast.claims.cached_topology import ObjectCache
from starcast.claims.catalogue import (
    Claim,
    Sizes,
    family_sizes,
    is_degenerate,
    only,
    size_order,
    union,
)
from starcast.claims.check import ClaimCheck
from starcast.claims.report import ReportRow
from starcast.claims.verdict import Verdict, claim_verdict, conjunction_verdict

SIZES = family_sizes("star", 5, 6, 7)


def verdict_of(check: Callable[[ClaimCheck], None], sizes: Sizes = SIZES) -> Verdict:
    """Return the verdict on claim TS.L5 with the given check function."""
    claim = Claim("TS.L5", "Lemma 5", "", sizes, check, correction="there are some nodes")
    objects = ObjectCache()
    return claim_verdict(
        claim,
        [verify.run_check(claim, spec, objects) for spec in verify.requested_sizes(claim, "quick")],
    )


def absent_and_unequal(check: ClaimCheck) -> None:
    """Record a counterexample, and that an algorithm is absent from the papers."""
    check.absent("an algorithm", "it is only cited")
    check.equal("nodes", check.nodes, 0)


@pytest.mark.parametrize(
    ("check", "word", "detail"),
    [
        (lambda check: check.equal("nodes", check.nodes, len(check.labels())), "holds", "nodes"),
        (
            lambda check: check.at_most("degree", check.degree, check.n),
            "holds as a bound",
            "S3..S5",
        ),
        (lambda check: check.at_least("nodes", check.nodes, 2), "holds as a bound", "S3..S5"),
        (
            lambda check: check.order("D_n / n", lambda n: topology(f"S{min(n, 9)}").diameter),
            "holds as a bound",
            "greatest quotient 6 (at S5)",
        ),
        (lambda check: check.order("n / 1", lambda n: n), "fails", "growing like n"),
        (lambda check: check.true("n > 3", check.n > 3), "fails", "Only degenerate sizes fail"),
        (
            lambda check: check.absent("an algorithm", "it is only cited"),
            "not checkable",
            "it is only cited.",
        ),
        (lambda _: None, "not checkable", "Nothing was compared."),
        (absent_and_unequal, "fails", "nodes"),
    ],
)
def test_the_verdict_follows_from_the_evidence_that_a_check_records(
    check: Callable[[ClaimCheck], None], word: str, detail: str
) -> None:
    result = verdict_of(check)
    assert (result.verdict, result.sizes) == (word, ("S3", "S4", "S5"))
    assert detail in result.detail


@pytest.mark.parametrize(
    ("words", "together"),
    [
        (("holds", "holds"), "holds"),
        (("holds", "holds as a bound"), "holds as a bound"),
        (("holds as a bound", "not checkable"), "not checkable"),
        (("not checkable", "fails", "holds"), "fails"),
    ],
)
def test_a_claim_with_several_parts_has_the_verdict_of_its_worst_part(
    words: tuple[str, ...], together: str
) -> None:
    result = [
        Verdict(
            f"TS.T1.{number}",
            word,  # type: ignore[arg-type]
            ("S3",),
            {"n": 3 + number} if word == "fails" else None,
            "",
        )
        for number, word in enumerate(words)
    ]
    joint = conjunction_verdict("TS.T1", result)
    assert joint.verdict == together
    assert joint.counterexample == next(
        (part.counterexample for part in result if part.counterexample), None
    )


def test_a_claim_with_several_parts_fails_with_the_smallest_counterexample() -> None:
    result = [
        Verdict(f"TS.T1.{n}", "fails", ("S3",), {"n": n, "found": 0, "stated": 1}, "")
        for n in (5, 3, 4)
    ]
    assert conjunction_verdict("TS.T1", result).counterexample == {"n": 3, "found": 0, "stated": 1}


def test_a_claim_is_not_checkable_if_only_empty_arrays_were_compared() -> None:
    result = verdict_of(lambda check: check.equal("nodes", [], []))
    assert (result.verdict, result.detail) == ("not checkable", "Nothing was compared.")


@pytest.mark.parametrize(
    ("measured", "stated"),
    [
        ([2**63 + 1, -1], [2**63, -1]),
        ([2**53 + 1, 0.5], [2**53, 0.5]),
        (2**53 + 1, 2.0**53),
        (np.array([2**53 + 1]), np.array([2.0**53])),
    ],
)
def test_huge_integers_are_compared_exactly(measured: Any, stated: Any) -> None:
    assert verdict_of(lambda check: check.equal("number", measured, stated)).verdict == "fails"
    assert verdict_of(lambda check: check.equal("number", measured, measured)).verdict == "holds"


def test_a_claim_about_an_algorithm_that_no_paper_contains_is_not_checkable() -> None:
    assert verdict_of(lambda check: check.absent("an algorithm", "")).verdict == "not checkable"


def test_the_error_for_an_unknown_claim_id_suggests_the_nearest_one() -> None:
    with pytest.raises(StarcastError) as raised:
        check("ts.l5-paths")
    assert "TS.L5" in raised.value.hint


@pytest.mark.parametrize(
    ("level", "sizes", "message"),
    [
        ("quick", ["Q3"], "is not about Q3"),
        ("quick", ["S12"], r"about [0-9.,]+ GB are needed, but this machine has only"),
        ("slow", None, "unknown level 'slow'"),
        ("quick", [], "not a list of one or more sizes"),
        ("quick", "S4", "not a list of one or more sizes"),
    ],
)
def test_invalid_sizes_and_levels_are_errors(
    level: Any, sizes: list[str] | str | None, message: str
) -> None:
    with pytest.raises(StarcastError, match=message):
        check("TS.L5", level, sizes)


def test_sizes_are_sorted_by_n_then_k() -> None:
    assert family_sizes("nk-star", 4, 4, 4).quick == ("S3,1", "S3,2", "S4,1", "S4,2", "S4,3")
    assert family_sizes("hypercube", 3, 3, 3).quick == ("Q2", "Q3")
    assert union([family_sizes("star", 4, 4, 4), family_sizes("star", 3, 5, 5)]).full == (
        "S3",
        "S4",
        "S5",
    )
    assert sorted(["S10", "S9", "S4,2", "S4,1"], key=size_order) == ["S4,1", "S4,2", "S9", "S10"]


def test_a_claim_whose_sizes_include_s2_can_fail_on_s2() -> None:
    sizes = family_sizes("star", 4, 4, 4, least=2)
    result = verdict_of(lambda check: check.true("n > 2", check.n > 2), sizes)
    assert (result.verdict, result.sizes) == ("fails", ("S2", "S3", "S4"))


def test_sizes_with_the_smallest_n_or_an_extreme_k_count_as_degenerate() -> None:
    assert [is_degenerate(spec) for spec in ("S3", "S4", "S5,1", "S5,4", "S5,2", "Q2", "Q3")] == [
        True, False, True, True, False, True, False,
    ]  # fmt: skip


def test_nodes_in_a_counterexample_are_given_by_their_labels() -> None:
    for name in ("node", "other", "root", "source", "destination"):

        def differ(check: ClaimCheck, name: str = name) -> None:
            check.equal(
                "ranks", check.ranks, check.ranks - (check.ranks == 2), **{name: check.ranks}
            )

        assert f"{name} = 213: found 2, stated 1" in verdict_of(differ).detail


def test_a_correction_that_is_false_or_not_checked_is_reported() -> None:
    def check(check: ClaimCheck) -> None:
        check.equal("nodes", check.nodes, 0)
        check.correction().equal("nodes", check.nodes, 1)

    failed = verdict_of(check).detail
    expected = "The correction fails too: there are some nodes: n = 3: found 6, stated 1."
    assert expected in failed
    unchecked = verdict_of(lambda check: check.equal("nodes", check.nodes, 0)).detail
    assert "The correction is not checked: there are some nodes." in unchecked


def test_a_correction_about_which_nothing_was_compared_is_not_reported_as_true() -> None:
    def check(check: ClaimCheck) -> None:
        check.equal("nodes", check.nodes, 0)
        check.correction().equal("nodes", [], [])

    result = verdict_of(check)
    assert "Correct statement" not in result.detail
    assert "Not checked, because nothing was compared: there are some nodes." in result.detail
    claim = Claim("TS.L5", "Lemma 5", "", SIZES, check, correction="there are some nodes")
    assert ReportRow(claim, result).corrections == ()


def test_checking_a_correction_that_the_claim_does_not_have_is_an_error() -> None:
    check = ClaimCheck(topology("S3"), ObjectCache())
    with pytest.raises(StarcastError, match=r"test_verdict.py:\d+: this check calls"):
        check.correction()


def test_the_sizes_of_a_verdict_do_not_depend_on_the_order_in_which_checks_finish() -> None:
    listed = ("Circ5,1,2", "T3x4", "T4x3", "Circ13,1,2")
    claim = Claim("TS.L5", "", "", only(*listed), lambda check: check.true("no", False))
    found = [verify.run_check(claim, spec, ObjectCache()) for spec in reversed(listed)]
    assert claim_verdict(claim, found).sizes == listed


def test_recording_that_an_algorithm_is_absent_does_not_count_as_a_comparison() -> None:
    claim = Claim("TS.L5", "Lemma 5", "", SIZES, absent_and_unequal)
    evidence = verify.run_check(claim, "S3", ObjectCache())
    assert [finding.compared for finding in evidence.findings] == [0, 1]


def test_sizes_outside_the_claim_are_described_but_do_not_change_the_verdict() -> None:
    def check(check: ClaimCheck) -> None:
        check.true("n > 2", check.topology.n > 2, node="12")

    result = verdict_of(check)
    assert result.verdict == "holds"
    assert "S2" not in result.sizes
    assert (
        "Beyond the claim, S2 fails: n > 2: n = 2, node = 12: found no, stated yes."
        in result.detail
    )


def test_corrections_and_other_readings_are_described_but_do_not_change_the_verdict() -> None:
    def check(check: ClaimCheck) -> None:
        check.equal("nodes", check.topology.nodes, 0)
        check.correction().at_least("nodes", check.topology.nodes, 1)
        check.reading("there is one node").equal("nodes", check.topology.nodes, 1)

    result = verdict_of(check)
    assert result.verdict == "fails"
    assert "Correct statement: there are some nodes (S3..S5)." in result.detail
    assert "Other reading: there is one node: fails, n = 3: found 6, stated 1." in result.detail
