"""LRAT proofs: the checker accepts steps that follow from earlier clauses, and no others."""

import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from starcast.records import Proof, Record, is_better, shipped_record, verify
from starcast.records.files import describe_evidence
from starcast.records.lrat import CHECKER, check_lrat
from starcast.search import Budget, check_record, find_problem, make_proof, proofs
from starcast.search.engines import Formula
from starcast.search.proofs import check_record_proof, find_unsettled, formula_of, refute
from starcast.support.errors import InputError, LimitError, RejectedError, UncheckedError
from support.formulas import pigeons

LIMITS = Budget(seconds=60)
#: The clauses (a), (not a or b) and (not b), and a proof of their contradiction.
CLAUSES = [[1], [-1, 2], [-2]]
PROOF = ["4 2 0 1 2 0", "5 0 4 3 0"]


def satisfiable() -> Formula:
    """Return a satisfiable formula."""
    formula = Formula()
    formula.add(*formula.new(2).tolist())
    return formula


def test_a_proof_that_derives_the_empty_clause_is_accepted() -> None:
    assert check_lrat(CLAUSES, PROOF) == 2
    assert check_lrat(CLAUSES, [PROOF[0], "4 d 1 2 0", PROOF[1], "anything"]) == 2
    assert check_lrat([[1, 1], [-1, -1]], ["3 0 1 2 0"]) == 1


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([], "ends without the empty clause"),
        (PROOF[:1], "ends without the empty clause"),
        (PROOF[1:], "line 1: the hint 4 is not the id of a clause"),
        (["4 2 0 1 0"], "line 1: unit propagation with the hints"),
        (["4 0 2 1 0"], "line 1: the clause of hint 2 has 2 literals that can be true"),
        (["4 2 0 0"], "line 1: unit propagation with the hints"),
        (["4 2 0 0", PROOF[1]], "line 1: unit propagation with the hints"),
        (["4 3 0 -1 2 0"], "line 1: the hint -1 is not the id of a clause"),
        (["3 2 0 1 2 0"], "line 1: the id 3 is already in use"),
        (["0 2 0 1 2 0"], "line 1: a line that adds a clause must begin with a positive id"),
        (["-4 2 0 1 2 0"], "line 1: a line that adds a clause must begin with a positive id"),
        (["4 2 0 1 2"], "must begin with a positive id and end with 0"),
        (["4 2 0"], "line 1: the added clause has no hints"),
        ([""], "line 1: a line that adds a clause must begin with a positive id"),
        (["c comment"], "line 1: invalid literal"),
        (["4 2 0 1 x 0"], "line 1: invalid literal"),
        (["4 d 9 0"], "line 1: the deleted clause 9 does not exist"),
        (["4 d 1"], "line 1: a line that deletes clauses must end with 0"),
        (["4 d"], "line 1: a line that deletes clauses must end with 0"),
        (["4 d 1 0", *PROOF], "line 2: the hint 1 is not the id of a clause"),
        (["9" * 5000], "line 1: Exceeds the limit"),
    ],
)
def test_the_error_for_a_wrong_proof_names_the_line_and_the_reason(
    lines: list[str], reason: str
) -> None:
    with pytest.raises(RejectedError) as rejected:
        check_lrat(CLAUSES, lines)
    assert f"{CHECKER} rejects the LRAT proof" in rejected.value.message
    assert reason in rejected.value.message


def test_a_proof_that_adds_a_clause_which_the_formula_does_not_imply_is_rejected() -> None:
    """The formula is satisfiable, so no proof of the empty clause is valid."""
    literals = (1, -1, 2, -2)
    clauses = [[], *([a] for a in literals), *([a, b] for a in literals for b in literals)]
    formula = [[1, 2], [-1, 2]]
    for clause in clauses:
        for hints in ([], [1], [2], [1, 2], [2, 1], [1, 1]):
            line = " ".join(map(str, [3, *clause, 0, *hints, 0]))
            is_implied = 2 in clause or (1 in clause and -1 in clause)
            is_implied |= len(set(clause)) == 2 and 2 not in clause and -2 not in clause
            if not is_implied:
                with pytest.raises(RejectedError, match=r"line 1"):
                    check_lrat(formula, [line, "4 0 3 0"])


def test_a_solver_proof_for_an_unsatisfiable_formula_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "proof.lrat"
    found = refute(pigeons(6), LIMITS, "pigeons", file)
    assert found is not None
    assert found.size == file.stat().st_size
    lines = file.read_text().splitlines()
    assert check_lrat(pigeons(6).clauses, lines) == found.steps
    again = refute(pigeons(6), LIMITS, "pigeons")
    assert again is not None
    assert again.sha256 == found.sha256
    with pytest.raises(RejectedError):
        check_lrat(pigeons(7).clauses, lines)


def test_most_proofs_from_which_one_line_is_removed_are_rejected(tmp_path: Path) -> None:
    """If a clause is also removed from the formula, every shortened proof is rejected."""
    file = tmp_path / "proof.lrat"
    refute(pigeons(5), LIMITS, "pigeons", file)
    lines = file.read_text().splitlines()
    formula = pigeons(5)
    weaker = formula.clauses[1:]
    rejected = 0
    for number in range(len(lines)):
        changed = [*lines[:number], *lines[number + 1 :]]
        try:
            check_lrat(formula.clauses, changed)
        except RejectedError:
            rejected += 1
        with pytest.raises(RejectedError):
            check_lrat(weaker, changed)
    assert rejected > len(lines) // 2


def test_a_proof_is_accepted_if_the_solver_derives_clauses_while_reading_the_formula(
    tmp_path: Path,
) -> None:
    """CaDiCaL simplifies clauses while it reads a formula, and thereby derives new clauses.

    It numbers the derived and the original clauses in a single sequence.
    """
    formula = Formula()
    a, b, c, d = formula.new(4).tolist()
    for clause in ((a,), (-a, b, c), (-a, b, -c), (-a, -b, d), (-b, -d), (b, -a)):
        formula.add(*clause)
    file = tmp_path / "proof.lrat"
    found = refute(formula, LIMITS, "units", file)
    assert found is not None
    assert check_lrat(formula.clauses, file.read_text().splitlines()) == found.steps


def test_a_satisfiable_formula_or_a_missing_folder_for_the_proof_is_an_error(
    tmp_path: Path,
) -> None:
    with pytest.raises(RejectedError, match="the formula is satisfiable"):
        refute(satisfiable(), LIMITS, "nothing")
    with pytest.raises(InputError):
        refute(pigeons(4), LIMITS, "pigeons", tmp_path / "missing" / "proof.lrat")


def test_a_solver_that_refutes_a_formula_stops_at_its_time_and_memory_limits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert refute(pigeons(14), Budget(seconds=1), "pigeons") is None
    with pytest.raises(LimitError, match="needs more than 100 MB"):
        refute(pigeons(60), Budget(seconds=60, memory=100), "pigeons")
    monkeypatch.setattr(proofs, "race", lambda *_: 0)
    assert refute(pigeons(5), LIMITS, "pigeons") is None


def test_a_drat_proof_of_another_solver_is_checked() -> None:
    from pysat.solvers import Solver

    record = shipped_record("fault-diameter", "S4")
    clauses = formula_of(record).clauses
    with Solver(name="cadical195", bootstrap_with=clauses, with_proof=True) as solver:
        assert not solver.solve()
        lines = solver.get_proof()
    assert check_record_proof(record, "\n".join(lines) + "\n").startswith("dratify ")
    for damaged in (["0"], lines[:-1], ["1 x 0", *lines], ["d 1 0", "0"]):
        with pytest.raises(RejectedError, match="dratify rejects the DRAT proof"):
            check_record_proof(record, "\n".join(damaged) + "\n")
    with pytest.raises(RejectedError, match="rejects the LRAT proof: the proof ends"):
        check_record_proof(record, "")


def install_checker(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Install a shell script as the proof checker cake_lpr.

    The script requires that its two arguments are files that are not empty.
    """
    program = folder / "cake_lpr"
    program.write_text(f'#!/bin/sh\ntest -s "$1" && test -s "$2" || exit 1\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_a_proof_must_also_be_accepted_by_cake_lpr_if_cake_lpr_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_checker(tmp_path, monkeypatch, "echo s VERIFIED UNSAT")
    found = refute(pigeons(5), LIMITS, "pigeons")
    assert found is not None
    assert found.checker == f"{CHECKER} and cake_lpr"
    for script, reason in [
        ("echo c empty clause not derived at end of proof >&2", "cake_lpr rejects .*not derived"),
        ("exit 3", "cake_lpr rejects .* prints nothing"),
        ("echo s VERIFIED UNSAT; echo more", "cake_lpr rejects"),
    ]:
        install_checker(tmp_path, monkeypatch, script)
        with pytest.raises(RejectedError, match=reason):
            refute(pigeons(5), LIMITS, "pigeons")


@pytest.mark.slow
def test_no_proof_is_returned_if_the_proof_checker_cake_lpr_takes_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_checker(tmp_path, monkeypatch, "exec sleep 60")
    assert refute(pigeons(4), Budget(seconds=2), "pigeons") is None


def with_proof(record: Record, format_: str) -> Record:
    """Return a record that claims a proof of the given format for its bound."""
    proof = Proof(
        statement="nothing better",
        format=format_,  # type: ignore[arg-type]
        formula_sha256="0" * 64,
        proof_sha256="" if format_ == "second solver" else "0" * 64,
        proof_bytes=0 if format_ == "second solver" else 1,
        checker="some program",
        command="starcast records prove",
    )
    return _with_formula(replace(record, proof=proof))


def _with_formula(record: Record) -> Record:
    """Return the record with the checksum of the formula that starcast writes for the proof."""
    written: list[Formula] = []

    def keep(formula: Formula) -> str:
        written.append(formula)
        return record.proof.formula_sha256 if record.proof else ""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Formula, "sha256", keep)
        formula_of(record)
    assert record.proof is not None
    return replace(record, proof=replace(record.proof, formula_sha256=written[0].sha256()))


def forged_rounds(format_: str) -> Record:
    """Return a record that claims 9 rounds to be optimal on S5. The true optimum is 8."""
    best = shipped_record("one-port-broadcast", "S5")
    rounds = best.witness["round"].astype(np.int64)
    witness = {**best.witness, "round": rounds + (rounds == rounds.max())}
    record = replace(best, value=9, bound=9, witness=witness, reason="belief")
    return with_proof(record, format_)


@pytest.mark.parametrize(
    ("format_", "state"),
    [("second solver", "not checked"), ("DRAT", "not made again"), ("LRAT", "not made again")],
)
def test_a_record_with_a_forged_proof_is_not_trusted_and_the_proof_cannot_be_regenerated(
    format_: str, state: str
) -> None:
    record = forged_rounds(format_)
    verify(record)
    checked = check_record(record)
    assert checked.verification == state
    assert "proofs were not requested" in checked.reason
    assert state in describe_evidence(record)
    with pytest.raises(RejectedError, match="the formula is satisfiable"):
        check_record(record, LIMITS)


def true_height(format_: str) -> Record:
    """Return a record with a correct bound that claims a proof of the given format."""
    return with_proof(shipped_record("edge-disjoint-trees", "S5"), format_)


@pytest.mark.parametrize("format_", ["second solver", "DRAT", "LRAT"])
def test_a_regenerated_proof_verifies_a_record_with_any_proof_format(format_: str) -> None:
    checked = check_record(true_height(format_), LIMITS)
    assert checked.verification == "verified"
    assert checked.reason.startswith("the proof differs") == (format_ == "LRAT")
    assert checked.proof is not None


@pytest.mark.parametrize(
    ("format_", "state"), [("second solver", "not checked"), ("LRAT", "not made again")]
)
def test_a_record_whose_proof_exceeds_a_time_or_memory_limit_is_not_verified(
    format_: str, state: str
) -> None:
    checked = check_record(true_height(format_), Budget(seconds=0.01))
    assert checked.verification == state
    assert "the proof takes more than 0.01 s" in checked.reason
    checked = check_record(true_height(format_), Budget(seconds=60, memory=1))
    assert checked.verification == state
    assert "MB" in checked.reason


def test_a_bound_proven_only_by_a_second_solver_is_reported_as_not_checked() -> None:
    settled = true_height("LRAT")
    assert find_unsettled([settled], 60) is None
    failure = find_unsettled([settled, true_height("second solver")], 60)
    assert isinstance(failure, UncheckedError)
    assert "the bound of edge-disjoint-trees:S5 is not checked" in failure.message


def test_a_formula_that_needs_too_much_memory_is_not_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record = true_height("LRAT")
    problem = find_problem(record.problem)
    monkeypatch.setattr(problem, "literals", lambda *_: 10**12)
    monkeypatch.setattr(problem, "rebuild", lambda *_: pytest.fail("the formula was written"))
    checked = check_record(record)
    assert checked.verification == "not made again"
    assert "needs about" in checked.reason


def test_a_record_with_stronger_evidence_is_better() -> None:
    """The evidence is, in rising order: a second solver, a DRAT proof, an LRAT proof, theory."""
    records = [true_height(each) for each in ("second solver", "DRAT", "LRAT")]
    without = replace(records[0], proof=None)
    order = [*records, without]
    for worse, better in pairwise(order):
        assert is_better(better, worse)
        assert not is_better(worse, better)


def test_a_second_solver_confirms_a_bound_whose_proof_takes_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("starcast.search.proofs.refute", lambda *_: None)
    proof = make_proof(pigeons(5), "no place", "starcast search a b", LIMITS)
    assert (proof.format, proof.proof_sha256) == ("second solver", "")
    assert proof.checker.startswith("CP-SAT")
