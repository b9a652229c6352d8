"""A checker of LRAT proofs, which shares no code with the solvers that write them.

An LRAT proof is a text file that refutes a formula. The clauses of the formula have the ids 1, 2,
3, ... A line ``ID LITERALS 0 HINTS 0`` adds a clause, and ``ID d IDS 0`` deletes clauses. An added
clause must follow by unit propagation from earlier clauses, whose ids are the hints. That is,
assume that all literals of the added clause are false. Then each hinted clause in turn has only one
literal left, which must be true, and the last hinted clause has no literal left. So the checker
does not have to search. A proof is complete when it adds the empty clause, which has no literals.

The checker reads the part of the format that CaDiCaL writes. It rejects RAT steps, which have
negative hints.
"""

from collections.abc import Iterable, Sequence

from starcast.support.errors import RejectedError

#: The name of this checker in records.
CHECKER = "starcast.records.lrat"

Clause = tuple[int, ...]


def check_lrat(clauses: Iterable[Iterable[int]], proof: Iterable[str]) -> int:
    """Check that a proof refutes a formula.

    Args:
        clauses: the clauses of the formula; a literal is the number of a variable, or minus this
            number if the variable is negated.
        proof: the lines of the proof.

    Returns:
        The number of clauses that the proof adds, up to the empty clause.

    Raises:
        RejectedError: a line is malformed, a clause does not follow, or the proof ends too early.

    Example:
        >>> check_lrat([[1], [-1, 2], [-2]], ["4 2 0 1 2 0", "5 0 4 3 0"])
        2
    """
    # Duplicate literals of a clause are removed, so that each remaining literal is counted once.
    known = {number: tuple(set(clause)) for number, clause in enumerate(clauses, start=1)}
    added = 0
    for number, line in enumerate(proof, start=1):
        try:
            clause = _execute(known, line.split())
        except ValueError as error:
            raise rejected_proof(f"line {number}: {error}") from None
        if clause is None:
            continue
        added += 1
        if not clause:
            return added
    raise rejected_proof("the proof ends without the empty clause")


def rejected_proof(reason: str, checker: str = CHECKER) -> RejectedError:
    """Return the error for a proof that a checker rejects."""
    return RejectedError(
        f"{checker} rejects the LRAT proof: {reason}",
        hint="generate the proof again; it is damaged or belongs to another formula",
    )


def _execute(known: dict[int, Clause], words: Sequence[str]) -> Clause | None:
    """Process a line of a proof: delete clauses, or check and add a clause.

    Args:
        known: the clauses by id; modified in place.
        words: the words of the line.

    Returns:
        The added clause; None if the line deletes clauses.

    Raises:
        ValueError: the line is malformed, or its clause does not follow.
    """
    if words[1:2] == ["d"]:
        _delete(known, [int(word) for word in words[2:]])
        return None
    name, clause, hints = _parse_addition([int(word) for word in words])
    # A second clause with this id would make later hints ambiguous.
    if name in known:
        raise ValueError(f"the id {name} is already in use")
    _require_implied(known, clause, hints)
    known[name] = clause
    return clause


def _parse_addition(numbers: Sequence[int]) -> tuple[int, Clause, Sequence[int]]:
    """Return the id, the literals and the hints of a line that adds a clause."""
    if not numbers or numbers[0] < 1 or numbers[-1] != 0:
        raise ValueError("a line that adds a clause must begin with a positive id and end with 0")
    end = numbers.index(0)
    if end == len(numbers) - 1:
        raise ValueError("the added clause has no hints")
    return numbers[0], tuple(set(numbers[1:end])), numbers[end + 1 : -1]


def _delete(known: dict[int, Clause], ids: Sequence[int]) -> None:
    if not ids or ids[-1] != 0:
        raise ValueError("a line that deletes clauses must end with 0")
    for each in ids[:-1]:
        if known.pop(each, None) is None:
            raise ValueError(f"the deleted clause {each} does not exist")


def _require_implied(known: dict[int, Clause], clause: Clause, hints: Sequence[int]) -> None:
    """Check that a clause follows by unit propagation, using the clauses that its hints name."""
    # Assume that the clause is false, and follow the hints to a contradiction.
    false = set(clause)
    for hint in hints:
        used = known.get(hint)
        if used is None:
            raise ValueError(f"the hint {hint} is not the id of a clause")
        left = [literal for literal in used if literal not in false]
        # A hinted clause without a literal that can be true is a contradiction. So the added clause
        # follows, and any further hints do not matter.
        if not left:
            return
        if len(left) > 1:
            raise ValueError(f"the clause of hint {hint} has {len(left)} literals that can be true")
        false.add(-left[0])
    raise ValueError(
        "unit propagation with the hints (the ids of earlier clauses) finds no contradiction"
    )
