"""Proofs that nothing better exists: made for new records, and made again for known records."""

from pathlib import Path

from starcast.records import Proof, Record
from starcast.records.lrat import CHECKER, check_lrat
from starcast.search.catalogue import find_problem
from starcast.search.engines import Budget, solve, solver_name
from starcast.search.formula import Formula, require_fit
from starcast.search.problem import SearchProblem
from starcast.search.refutation import Refutation, check_drat, refute
from starcast.support.errors import RejectedError
from starcast.topologies import topology

#: A proof may take this many times the time limit of its search, and at least this many seconds.
_FACTOR, _LEAST_SECONDS = 10, 60


def make_proof(formula: Formula, statement: str, command: str, budget: Budget) -> Proof:
    """Return evidence that a formula has no solution.

    It is an LRAT proof that `starcast.records.lrat` accepts. If making and checking the proof takes
    too long, CP-SAT, which shares no code with CaDiCaL, has to refute the formula too; nothing can
    check that.

    Raises:
        RejectedError: the checker rejects the proof, or the second solver does not agree.
        UnavailableError: a library is not installed.
        LimitError: memory ran out.
    """
    seconds = max(_FACTOR * budget.seconds, _LEAST_SECONDS)
    limits = Budget(seconds, budget.memory, reporter=budget.reporter)
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
    other = Budget(seconds, budget.memory, engine="cp-sat", reporter=budget.reporter)
    status, _ = solve(formula, other, f"{statement}, second solver")
    if status != "unsatisfiable":
        raise RejectedError(
            f"{statement}: the LRAT proof is too long to check, and CP-SAT answers '{status}'",
            hint="raise --timeout",
        )
    return Proof(statement, "second solver", digest, "", 0, solver_name("cp-sat"), again)


def verify_bound(record: Record) -> None:
    """Check that the bound of a record is that of theory, or that its proof is about it.

    The formula of the proof is written again and has to have the same SHA-256. The proof itself is
    made again by `starcast.search.check_record`, which takes longer.

    Raises:
        RejectedError: the bound does not follow.
        InputError: the problem is not defined on the topology, or has no formula.
        LimitError: the formula is too large to write.
    """
    problem = _problem_of(record)
    if record.proof is not None:
        formula_of(record)
        return
    if record.problem == "bisection-width" and "vectors" in record.witness:
        return  # `starcast.records.verify` adds up the inequalities
    theory = problem.bound()
    if record.bound != theory.value:
        raise RejectedError(
            f"{record.id} has the bound {record.bound} without a proof, and theory gives"
            f" {theory.value}",
            hint="search again with --fresh",
        )


def _problem_of(record: Record) -> SearchProblem:
    declared = find_problem(record.problem)
    graph = topology(record.topology)
    declared.check_topology(graph)
    return declared(graph, record.arguments)


def formula_of(record: Record, memory: int = Budget.memory) -> Formula:
    """Write the formula again that the proof of a record refutes.

    Args:
        memory: the memory limit of a solver in MB, in which the formula has to fit.

    Raises:
        RejectedError: the record has no proof, or its proof is about another formula.
        InputError: the problem is not defined on the topology, or has no formula.
        LimitError: the formula does not fit.
    """
    if record.proof is None:
        raise RejectedError(
            f"the bound of {record.id} needs no proof: {record.reason}",
            hint="name a record with a proof: see 'starcast records list'",
        )
    problem = _problem_of(record)
    refuted = record.bound - 1 if problem.sense == "least" else record.bound + 1
    if refuted < 0:
        raise RejectedError(
            f"{record.id} has the bound {record.bound}, which needs no proof", hint="search again"
        )
    literals = problem.literals(refuted)
    require_fit(literals, memory, f"{record.problem} on {record.topology}")
    formula = problem.rebuild(refuted, record.witness)
    if formula.sha256() != record.proof.formula_sha256:
        raise RejectedError(
            f"the proof of {record.id} is about another formula", hint="search again"
        )
    return formula


def prove_again(
    record: Record, budget: Budget | None = None, out: Path | None = None
) -> Refutation | None:
    """Make the proof of a record again, whatever its format was, and check it.

    Args:
        record: a record with a proof.
        budget: the limits of time and memory.
        out: a file for the LRAT proof.

    Returns:
        The refutation; None at the time limit.

    Raises:
        RejectedError: the record has no proof, its formula has a solution, or a checker rejects
            the proof.
        LimitError: memory ran out.
        UnavailableError: python-sat is not installed.
    """
    limits = budget or Budget()
    formula = formula_of(record, limits.memory)
    # The time limit is that of the proof: writing a formula takes seconds at most.
    return refute(formula, limits, f"proof of {record.id}", out)


def compare_proof(record: Record, refutation: Refutation) -> str:
    """Return that a proof made again differs from that of the record, or an empty text."""
    known = record.proof
    if known is None or known.format != "LRAT" or known.proof_sha256 == refutation.sha256:
        return ""
    return "another proof than that of the record; another version of CaDiCaL"


def check_record_proof(record: Record, proof: str) -> str:
    """Check an LRAT or DRAT proof against the formula of a record, and return the checker.

    Args:
        record: a record with a proof.
        proof: the text of the proof; dratify checks DRAT.

    Raises:
        RejectedError: the record has no proof, or the checker rejects this proof.
        UnavailableError: dratify is not installed.
    """
    formula = formula_of(record)
    lines = proof.splitlines()
    if lines and _is_drat(lines[0].split()):
        return check_drat(formula, proof)
    check_lrat(formula.clauses, lines)
    return CHECKER


def _is_drat(words: list[str]) -> bool:
    """Return whether a line is one of DRAT: without ids, and with a single 0 at its end."""
    if "d" in words:
        return words[0] == "d"
    return words.count("0") == 1
