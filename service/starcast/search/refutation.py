"""Refutations: CaDiCaL writes an LRAT proof, and checkers that share no code with it accept it.

The proof is made and checked in a process with limits of time and memory. Besides the checker of
`starcast.records.lrat`, the verified checker cake_lpr (Tan, Heule and Myreen 2021) has to accept a
proof if it is installed: a program of this name on the PATH.
"""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from hashlib import file_digest
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import NamedTuple

from starcast.records.lrat import CHECKER, check_lrat, rejected_proof
from starcast.search.engines import Budget, race, require
from starcast.search.formula import Formula
from starcast.support.atomic import atomic_write
from starcast.support.errors import RejectedError

#: Largest LRAT proof that is checked, in bytes.
MAX_BYTES = 10**9
#: The verified checker, and what it prints about a proof that it accepts.
VERIFIED_CHECKER = "cake_lpr"
_ACCEPTED = "s VERIFIED UNSAT"


class Refutation(NamedTuple):
    """An LRAT proof that was made and accepted.

    Attributes:
        steps: the number of clauses that it adds.
        size: its length in bytes.
        sha256: its SHA-256.
        checker: the programs that accepted it.
        seconds: the time to make and check it.
    """

    steps: int
    size: int
    sha256: str
    checker: str
    seconds: float


def refute(
    formula: Formula, budget: Budget, subject: str, out: Path | None = None
) -> Refutation | None:
    """Have CaDiCaL refute a formula, and check its LRAT proof.

    CaDiCaL gets the default options, so that the same version writes the same proof again.

    Args:
        budget: the limits of time and memory; one process is used.
        subject: what is refuted, for progress and messages.
        out: a file for the proof.

    Returns:
        The refutation; None at the time limit, or if the proof has more than `MAX_BYTES`.

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
        proof = Path(folder) / "proof.lrat"
        answer = race(_prove, (formula.clauses, str(proof)), limits, subject)
        if answer is None or answer == _TOO_LONG:
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
    """Check a DRAT proof, which other solvers write, and return the checker with its version.

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
            hint="the proof is damaged or of another formula: make it again",
        )
    return f"dratify {version('dratify')}"


_TOO_LONG = "too long"


def _prove(work: tuple[list[list[int]], str], _seed: int) -> int | str:
    """Write an LRAT proof to a file and check it; return the number of its steps."""
    clauses, path = work
    proof = Path(path)
    raw = proof.with_suffix(".raw")
    _write_lrat(clauses, raw)
    if raw.stat().st_size > MAX_BYTES:
        return _TOO_LONG
    _renumber(raw, len(clauses), proof)
    with proof.open(encoding="ascii") as lines:
        return check_lrat(clauses, lines)


def _write_lrat(clauses: list[list[int]], path: Path) -> None:
    """Have CaDiCaL refute clauses and write what it did.

    `Solver` of python-sat only writes DRAT: the format is chosen when the file is given to CaDiCaL,
    so the option has to be set before.
    """
    solvers, functions = require("pysat.solvers"), require("pysolvers")
    with path.open("w+b") as file, solvers.Cadical195() as solver:
        solver.configure({"lrat": 1, "binary": 0})
        writer = functions.cadical195_tracepr(solver.cadical, file)
        for clause in clauses:
            solver.add_clause(clause)
        if solver.solve():
            raise RejectedError(
                "the formula is satisfiable: what the proof excludes exists",
                hint="the record is wrong",
            )
        functions.flushpr(writer)


def _renumber(raw: Path, count: int, target: Path) -> None:
    """Give the clauses of the formula the ids from 1, as LRAT requires.

    CaDiCaL numbers clauses as it meets them: a clause that it derives while the formula is still
    being read takes the next id. The ids that no line adds are those of the formula, in its order.

    Args:
        raw: the file that CaDiCaL wrote.
        count: the number of clauses of the formula.
        target: the file to write.
    """
    with raw.open(encoding="ascii") as lines:
        derived = {int(words[0]) for words in map(str.split, lines) if words[1] != "d"}
    ids = _first_missing(derived, count)
    renamed = {before: number for number, before in enumerate(ids, start=1)}
    with raw.open(encoding="ascii") as lines, target.open("w", encoding="ascii") as file:
        for line in lines:
            words = line.split()
            end = 1 if words[1] == "d" else words.index("0")
            changed = [_rename(word, renamed, count) for word in words[end + 1 : -1]]
            own = _rename(words[0], renamed, count)
            file.write(" ".join([own, *words[1 : end + 1], *changed, "0"]) + "\n")


def _first_missing(derived: set[int], count: int) -> Iterator[int]:
    """Yield the first ids that are not those of derived clauses."""
    number = 0
    for _ in range(count):
        number += 1
        while number in derived:
            number += 1
        yield number


def _rename(word: str, renamed: dict[int, int], count: int) -> str:
    number = int(word)
    return str(renamed.get(number, number + count))


def _run_verified_checker(program: str, formula: Formula, proof: Path, seconds: float) -> bool:
    """Return whether cake_lpr accepts a proof within a time limit.

    Raises:
        RejectedError: it does not accept the proof.
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
    if result.stdout.strip() != _ACCEPTED:
        words = f"{result.stdout} {result.stderr}".split()
        raise rejected_proof(" ".join(words) or "it prints nothing", VERIFIED_CHECKER)
    return True
