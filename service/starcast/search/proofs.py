"""Check records: their witnesses and bounds, and the proofs that no better object exists.

To prove a bound, CaDiCaL refutes a formula and writes an LRAT proof. The proof must be accepted by
checkers that share no code with CaDiCaL: `starcast.records.lrat`, and the verified checker
cake_lpr (Tan, Heule and Myreen 2021) if a program of this name is on the PATH. CaDiCaL and the
first checker run in a process with a time limit and a memory limit; cake_lpr has a time limit.
"""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from hashlib import file_digest
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Literal, NamedTuple

from starcast.records import Proof, Record, verify
from starcast.records.lrat import CHECKER, check_lrat, rejected_proof
from starcast.search.engines import (
    Budget,
    Formula,
    race,
    renumber_lrat,
    require,
    require_fit,
    solve,
    solver_name,
    write_lrat,
)
from starcast.search.problem import SearchProblem, find_problem
from starcast.support.atomic import atomic_write
from starcast.support.errors import (
    LimitError,
    RejectedError,
    StarcastError,
    UnavailableError,
    UncheckedError,
)
from starcast.support.installation import install_command
from starcast.support.progress import Reporter
from starcast.support.table import Table
from starcast.support.text import pluralize
from starcast.support.vocabulary import Verification
from starcast.topologies import topology

#: The time limit of a proof is `_FACTOR` times that of the search, but at least `_LEAST_SECONDS`.
_FACTOR, _LEAST_SECONDS = 10, 60
#: Maximum size of an LRAT proof that is checked, in bytes.
MAX_BYTES = 10**9
#: The program name of the verified checker, and its output for an accepted proof.
VERIFIED_CHECKER = "cake_lpr"
_ACCEPTED = "s VERIFIED UNSAT"


class Refutation(NamedTuple):
    """Properties of an LRAT proof that refutes a formula and that checkers have accepted.

    Attributes:
        steps: the number of clauses that the proof adds.
        size: the length of the proof in bytes.
        sha256: the SHA-256 of the proof.
        checker: the names of the checkers that accepted the proof.
        seconds: the time for generating and checking the proof.
    """

    steps: int
    size: int
    sha256: str
    checker: str
    seconds: float


def refute(
    formula: Formula, budget: Budget, subject: str, out: Path | None = None
) -> Refutation | None:
    """Refute a formula with CaDiCaL, and check its LRAT proof.

    CaDiCaL runs with its default options, so that the same version always writes the same proof.

    Args:
        formula: the formula.
        budget: the limits on time and memory; one process is used.
        subject: a description of the proof, for progress and messages.
        out: the path of a file to which the proof is written (default: none).

    Returns:
        The refutation; None if the time limit was reached or the proof exceeds `MAX_BYTES`.

    Raises:
        UnavailableError: python-sat is not installed.
        LimitError: memory ran out.
        RejectedError: the formula is satisfiable, or a checker rejects the proof.
        InputError: ``out`` cannot be written.
    """
    require("pysat.solvers")
    start = monotonic()
    limits = Budget(budget.seconds, budget.memory, reporter=budget.reporter)
    with TemporaryDirectory(prefix="starcast-") as folder:
        # A proof can be as large as a gigabyte, so it is kept in a file, not in memory.
        proof = Path(folder) / "proof.lrat"
        answer = race(_prove, (formula.clauses, str(proof)), limits, subject)
        if not answer:
            return None
        checkers = [CHECKER]
        program = shutil.which(VERIFIED_CHECKER)
        if program is not None:
            if not _run_verified_checker(program, formula, proof, limits.left):
                return None
            checkers.append(VERIFIED_CHECKER)
        with proof.open("rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
        if out is not None:
            with proof.open("rb") as file, atomic_write(out) as target:
                shutil.copyfileobj(file, target)
        seconds = round(monotonic() - start, 1)
        size = proof.stat().st_size
        return Refutation(answer, size, digest, " and ".join(checkers), seconds)


def check_drat(formula: Formula, proof: str) -> str:
    """Check a DRAT proof with dratify, and return the checker's name and version.

    Most SAT solvers write proofs in this format.

    Raises:
        UnavailableError: dratify is not installed.
        RejectedError: the checker rejects the proof.
    """
    dratify = require("dratify")
    try:
        result = dratify.check_proof(dratify.parse_dimacs(formula.dimacs()), proof)
        reason = None if result.ok else str(result.reason)
    except ValueError as error:
        reason = str(error)
    if reason is not None:
        raise RejectedError(
            f"dratify rejects the DRAT proof: {reason.splitlines()[0]}",
            hint="generate the proof again; it is damaged or belongs to another formula",
        )
    return f"dratify {version('dratify')}"


def _prove(work: tuple[list[list[int]], str], _seed: int) -> int:
    """Write and check an LRAT proof; return its number of steps, or 0 if the proof is too long."""
    clauses, path = work
    proof = Path(path)
    raw = proof.with_suffix(".raw")
    write_lrat(clauses, raw)
    if raw.stat().st_size > MAX_BYTES:
        return 0
    renumber_lrat(raw, len(clauses), proof)
    with proof.open(encoding="ascii") as lines:
        return check_lrat(clauses, lines)


def _run_verified_checker(program: str, formula: Formula, proof: Path, seconds: float) -> bool:
    """Return whether cake_lpr accepts a proof within a time limit.

    Args:
        program: the path of cake_lpr.
        formula: the formula that the proof refutes.
        proof: the proof file; the formula is written to the same folder.
        seconds: the time limit.

    Raises:
        RejectedError: the checker rejects the proof.
    """
    dimacs = proof.with_name("formula.cnf")
    dimacs.write_text(formula.dimacs(), encoding="ascii")
    command: Sequence[str] = (program, str(dimacs), str(proof))
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=max(seconds, 0.1), check=False
        )
    except subprocess.TimeoutExpired:
        return False
    # The verdict is read from the output, not from the exit code.
    if result.stdout.strip() != _ACCEPTED:
        words = f"{result.stdout} {result.stderr}".split()
        raise rejected_proof(" ".join(words) or "the checker prints nothing", VERIFIED_CHECKER)
    return True


def proof_limits(budget: Budget) -> Budget:
    """Return the limits on time and memory for generating a proof, given the search limits."""
    seconds = max(_FACTOR * budget.seconds, _LEAST_SECONDS)
    return Budget(seconds, budget.memory, reporter=budget.reporter)


def make_proof(formula: Formula, statement: str, command: str, budget: Budget) -> Proof:
    """Prove that a formula has no solution, and return a description of the evidence.

    The evidence is an LRAT proof that `starcast.records.lrat` accepts. If generating and checking
    the proof takes too long, the evidence is that a second solver refutes the formula too: CP-SAT,
    which shares no code with CaDiCaL. Unlike a proof, the result of CP-SAT cannot be checked.

    Args:
        formula: the formula.
        statement: the proven statement, such as ``no one-port broadcast in 4 rounds``.
        command: the search command; the command that regenerates the proof is derived from it.
        budget: the limits of the search; the proof may take longer (`proof_limits`).

    Raises:
        RejectedError: a checker rejects the proof, or the second solver does not refute the formula
            within the time limit.
        UnavailableError: a library is not installed.
        LimitError: memory ran out.
    """
    limits = proof_limits(budget)
    found = refute(formula, limits, f"proof: {statement}")
    digest = formula.sha256()
    again = command.replace("starcast search", "starcast records prove", 1)
    if found is not None:
        return Proof(
            statement,
            "LRAT",
            digest,
            found.sha256,
            found.size,
            found.checker,
            again,
            found.seconds,
        )
    # CP-SAT writes no proof, but is unlikely to have the same error as CaDiCaL.
    other = Budget(limits.seconds, budget.memory, engine="cp-sat", reporter=budget.reporter)
    status, _ = solve(formula, other, f"{statement}, second solver")
    if status != "unsatisfiable":
        raise RejectedError(
            f"{statement}: no LRAT proof was completed within the limits, and CP-SAT answers"
            f" '{status}' instead of 'unsatisfiable'",
            hint="raise `timeout`; if the answer is 'satisfiable', report a defect of starcast",
        )
    return Proof(statement, "second solver", digest, "", 0, solver_name("cp-sat"), again)


def verify_bound(record: Record) -> None:
    """Check that a record's bound follows from theory, or that its proof is for the right formula.

    The formula is rebuilt, and must have the SHA-256 in the record. The proof itself is not
    regenerated; `starcast.search.check_record` can do this, which takes longer. The certificate of
    a bisection is not checked here, but by `starcast.records.verify`.

    Raises:
        RejectedError: the record has no proof, and its bound differs from the bound from theory; or
            it has a proof that belongs to another formula or is not needed.
        InputError: the topology does not exist, or the problem is not defined on it or has no
            formula.
        LimitError: the formula is too large to write.
    """
    problem = problem_of(record)
    if record.proof is not None:
        formula_of(record)
        return
    if record.problem == "bisection-width" and "vectors" in record.witness:
        return  # the certificate of this bound is checked by `starcast.records.verify`
    theory = problem.bound()
    if record.bound != theory.value:
        raise RejectedError(
            f"{record.id} claims the bound {record.bound} without a proof; the bound proved by"
            f" theory is {theory.value}",
            hint="search again with `fresh`",
        )


def problem_of(record: Record) -> SearchProblem:
    """Return the search problem of a record on its topology.

    Raises:
        InputError: the topology does not exist, or the problem is not defined on it.
    """
    declared = find_problem(record.problem)
    graph = topology(record.topology)
    declared.check_topology(graph)
    return declared(graph, record.arguments)


def formula_of(record: Record, memory: int = Budget.memory) -> Formula:
    """Rebuild the formula that the proof of a record refutes.

    Args:
        record: a record with a proof.
        memory: the memory limit of a solver in MB; the solver must be able to load the formula.

    Raises:
        RejectedError: the record has no proof, its bound needs no proof, or its proof belongs to
            another formula.
        InputError: the topology does not exist, or the problem is not defined on it or has no
            formula.
        LimitError: the formula does not fit into the memory.
    """
    if record.proof is None:
        raise RejectedError(
            f"the bound of {record.id} needs no proof: {record.reason}",
            hint="choose a record that has a proof: see 'starcast records list'",
        )
    problem = problem_of(record)
    refuted = record.bound - record.sign
    # A bound of 0 needs no proof, because no number of rounds or links is negative.
    if refuted < 0:
        raise RejectedError(
            f"{record.id} has a proof, but its bound {record.bound} is trivial and needs no proof",
            hint="search again with `fresh`",
        )
    literals = problem.literals(refuted)
    require_fit(literals, memory, f"{record.problem} on {record.topology}")
    formula = problem.rebuild(refuted, record.witness)
    if formula.sha256() != record.proof.formula_sha256:
        raise RejectedError(
            f"the proof of {record.id} belongs to another formula", hint="search again"
        )
    return formula


def prove_again(
    record: Record, budget: Budget | None = None, out: Path | None = None
) -> Refutation | None:
    """Generate and check an LRAT proof for a record, even if the recorded proof is not LRAT.

    Args:
        record: a record with a proof.
        budget: the limits on time and memory (default: those of `Budget`).
        out: the path of a file to which the LRAT proof is written (default: none).

    Returns:
        The refutation; None if the time limit was reached or the proof is too long.

    Raises:
        RejectedError: the record has no proof or needs none, its proof belongs to another formula,
            the formula has a solution, or a checker rejects the new proof.
        InputError: the topology does not exist, the problem is not defined on it or has no formula,
            or ``out`` cannot be written.
        LimitError: memory ran out.
        UnavailableError: python-sat is not installed.
    """
    limits = budget or Budget()
    formula = formula_of(record, limits.memory)
    # The time limit applies only to the proof, because building the formula takes seconds at most.
    return refute(formula, limits, f"proof of {record.id}", out)


def compare_proof(record: Record, refutation: Refutation) -> str:
    """Return a remark if a new proof differs from the record's LRAT proof, else an empty string."""
    known = record.proof
    if known is None or known.format != "LRAT" or known.proof_sha256 == refutation.sha256:
        return ""
    return "the proof differs from that of the record, which another version of CaDiCaL wrote"


def check_record_proof(record: Record, proof: str) -> str:
    """Check that an LRAT or DRAT proof refutes the formula of a record.

    Args:
        record: a record with a proof.
        proof: the content of the proof file; a DRAT proof is checked by dratify.

    Returns:
        The name of the checker that accepted the proof.

    Raises:
        RejectedError: the record has no proof or needs none, its proof belongs to another formula,
            or the checker rejects the given proof.
        InputError: the topology does not exist, or the problem is not defined on it or has no
            formula.
        LimitError: the formula is too large to write.
        UnavailableError: dratify is not installed.
    """
    formula = formula_of(record)
    lines = proof.splitlines()
    if lines and _is_drat(lines[0].split()):
        return check_drat(formula, proof)
    check_lrat(formula.clauses, lines)
    return CHECKER


def _is_drat(words: list[str]) -> bool:
    """Return whether a proof line is in DRAT: it has no clause ids, and a single 0 at its end."""
    if "d" in words:
        return words[0] == "d"
    return words.count("0") == 1


class CheckedRecord(NamedTuple):
    """A record with the result of its verification.

    Attributes:
        record: the record. Unless it is rejected, the value of its witness was verified.
        verification: the verification state of the record's bound, or ``rejected`` if the record is
            wrong.
        reason: the reason why the record is wrong or its bound is not verified, or a remark on the
            regenerated proof; empty if there is nothing to report.
        proof: the regenerated proof of the bound; None if no proof was generated.
    """

    record: Record
    verification: Verification | Literal["rejected"]
    reason: str = ""
    proof: Refutation | None = None


def check_record(record: Record, budget: Budget | None = None) -> CheckedRecord:
    """Check a record's witness by the definition of the problem, and check the record's bound.

    Args:
        record: the record.
        budget: the limits for regenerating the record's proof; by default no proof is generated.

    Returns:
        The record with the verification state of its bound, the reason, and the generated proof.

    Raises:
        RejectedError: the record's witness, bound or proof is wrong.
        InputError: the topology does not exist, or the problem is not defined on it or has no
            formula.
    """
    verify(record)
    if record.proof is None:
        verify_bound(record)
        return CheckedRecord(record, "verified")
    try:
        if budget is None:
            verify_bound(record)
            return _unverified(record, record.proof, "proofs were not requested")
        limits = Budget(budget.seconds, budget.memory, reporter=budget.reporter)
        proof = prove_again(record, limits)
    except (LimitError, UnavailableError) as error:
        return _unverified(record, record.proof, error.message)
    if proof is None:
        return _unverified(record, record.proof, f"the proof takes more than {budget.seconds:g} s")
    return CheckedRecord(record, "verified", compare_proof(record, proof), proof)


def _unverified(record: Record, proof: Proof, reason: str) -> CheckedRecord:
    if proof.format == "second solver":
        reason = f"the bound is supported only by {proof.checker}; {reason}"
        return CheckedRecord(record, "not checked", reason)
    return CheckedRecord(record, "not made again", reason)


def check_records(
    records: Sequence[Record], budget: Budget | None, reporter: Reporter
) -> Iterator[CheckedRecord]:
    """Yield the result of `check_record` for each record.

    A wrong record raises no error here: its result has the state ``rejected``.
    """
    with reporter.task("verifying records", len(records), "records") as task:
        for record in records:
            try:
                yield check_record(record, budget)
            except RejectedError as error:
                yield CheckedRecord(record, "rejected", error.message)
            task.advance()


def tabulate_checks(checked: Sequence[CheckedRecord]) -> Table:
    """Return a table with one row per checked record.

    The table's attribute ``failure`` is the result of `find_failure`.
    """
    rows = [
        {
            "id": each.record.id,
            "verification": each.verification,
            "checker": each.proof and each.proof.checker,
            "seconds": each.proof and each.proof.seconds,
            "reason": each.reason,
        }
        for each in checked
    ]
    verified = sum(each.verification == "verified" for each in checked)
    proofs = sum(each.proof is not None for each in checked)
    note = (
        f"verified {verified} of {pluralize(len(checked), 'record')};"
        f" {pluralize(proofs, 'proof')} regenerated"
    )
    columns = ("id", "verification", "checker", "seconds", "reason")
    return Table.of(rows, columns, note, find_failure(checked), spare=("checker", "seconds"))


def find_failure(checked: Sequence[CheckedRecord]) -> StarcastError | None:
    """Return an error if some of the checked records are not verified, otherwise None.

    Returns:
        If records are wrong, a RejectedError with their number and the reason why the first is
        wrong. Otherwise, if bounds are not verified, an UncheckedError with their number and the
        reason why the first is not verified. None if all records are verified.
    """
    wrong = [each for each in checked if each.verification == "rejected"]
    unverified = [each for each in checked if each.verification != "verified"]
    if wrong:
        first = wrong[0]
        return RejectedError(
            f"{pluralize(len(wrong), 'record is', 'records are')} wrong: {first.reason}",
            hint="search again",
        )
    if unverified:
        first = unverified[0]
        return UncheckedError(
            f"{pluralize(len(unverified), 'bound is', 'bounds are')} not verified:"
            f" {first.record.id}: {first.verification} ({first.reason})",
            hint=f"run {install_command('search')}, and add `proofs` or a higher `proof_timeout`",
        )
    return None


def find_unsettled(records: Sequence[Record], seconds: float) -> StarcastError | None:
    """Return an error if a record is not proven optimal, or if its bound is not checked.

    Args:
        records: the records after the search.
        seconds: the time limit of the search for each record.

    Returns:
        A LimitError if the value and the bound of a record differ. Otherwise, an UncheckedError if
        the only evidence for a bound is a second solver's answer. Otherwise None.
    """
    if unsettled := [record for record in records if not record.optimal]:
        first, *others = unsettled
        more = (
            f"; {len(others)} more of {len(records)} records are not proven optimal"
            if others
            else ""
        )
        return LimitError(
            f"{first.id} is not proven optimal after {seconds:g} s: value {first.value}, bound"
            f" {first.bound}{more}",
            hint="repeat the command to continue, with another `seed` or a longer `timeout`",
        )
    for record in records:
        if record.proof is not None and record.proof.format == "second solver":
            return UncheckedError(
                f"the bound of {record.id} is not checked: no proof was completed within the"
                f" limits, and only {record.proof.checker} supports the bound",
                hint="to generate a proof, run 'starcast records verify --proof-timeout SECONDS'",
            )
    return None
