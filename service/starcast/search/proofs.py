"""Proofs that nothing better exists, and the verification of a record's bound."""

from starcast.errors import RejectedError
from starcast.records import Proof, Record
from starcast.search.catalogue import find_problem
from starcast.search.engines import Budget, CheckedProof, check_proof, prove, solve, solver_name
from starcast.search.formula import Formula
from starcast.topologies import topology


def make_proof(formula: Formula, statement: str, command: str, budget: Budget) -> Proof:
    """Return evidence that a formula has no solution.

    It is a DRAT proof that dratify accepts. If that proof is too long, CP-SAT, which shares no code
    with CaDiCaL, has to refute the formula too.

    Raises:
        RejectedError: the checker rejects the proof, or the second solver does not agree.
        UnavailableError: a library is not installed.
    """
    checked = prove(formula)
    digest = formula.sha256()
    again = f"{command.replace('starcast search', 'starcast records prove', 1)}"
    if checked is not None:
        size = len(checked.text.encode())
        return Proof(statement, "DRAT", digest, checked.sha256, size, checked.checker, again)
    other = Budget(10 * budget.seconds, budget.memory, engine="cp-sat", reporter=budget.reporter)
    status, _ = solve(formula, other, f"{statement}, second solver")
    if status != "unsatisfiable":
        raise RejectedError(
            f"{statement}: the DRAT proof is too long to check, and CP-SAT answers '{status}'",
            hint="raise --timeout",
        )
    return Proof(statement, "second solver", digest, "", 0, solver_name("cp-sat"), again)


def verify_bound(record: Record) -> None:
    """Check that the bound of a record is that of theory, or that its proof is about it.

    The formula of the proof is written again and has to have the same SHA-256. The DRAT proof
    itself is checked by `check_record_proof`, which takes longer.

    Raises:
        RejectedError: the bound does not follow.
    """
    problem = find_problem(record.problem)
    graph = topology(record.topology)
    theory = problem.bound(graph, record.arguments)
    if record.proof is None and "vectors" in record.witness:
        return  # `starcast.records.verify` adds up the inequalities
    if record.proof is None:
        if record.bound != theory.value:
            raise RejectedError(
                f"{record.id} has the bound {record.bound} without a proof, and theory gives"
                f" {theory.value}",
                hint="search again",
            )
        return
    if formula_of(record).sha256() != record.proof.formula_sha256:
        raise RejectedError(
            f"the proof of {record.id} is about another formula", hint="search again"
        )


def formula_of(record: Record) -> Formula:
    """Return the formula that the proof of a record refutes.

    Raises:
        RejectedError: the record has no proof.
    """
    if record.proof is None:
        raise RejectedError(
            f"the bound of {record.id} needs no proof: {record.reason}",
            hint="name a record with a proof: see 'starcast records list'",
        )
    problem = find_problem(record.problem)
    refuted = record.bound - 1 if problem.sense == "least" else record.bound + 1
    graph = topology(record.topology)
    return problem.rebuild(graph, record.arguments, refuted, record.witness)


def prove_again(record: Record) -> CheckedProof:
    """Make the DRAT proof of a record again, and check it.

    Raises:
        RejectedError: the record has no DRAT proof, or the checker rejects the proof.
    """
    formula = formula_of(record)
    checked = prove(formula) if record.proof and record.proof.format == "DRAT" else None
    if checked is None:
        raise RejectedError(
            f"{record.id} has no DRAT proof; it was confirmed by a second solver",
            hint="run its command to search again",
        )
    return checked


def check_record_proof(record: Record, proof: str) -> str:
    """Check a DRAT proof against the formula of a record, and return the checker.

    Raises:
        RejectedError: the record has no proof, or the checker rejects this proof.
    """
    return check_proof(formula_of(record), proof)
