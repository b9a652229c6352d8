"""Formulas in conjunctive normal form, the input of the solvers."""

import hashlib
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from starcast.support.errors import LimitError

#: Bytes per literal while a solver works, measured with CaDiCaL 1.9.5 on formulas of this package.
BYTES_PER_LITERAL = 60
#: Maximum number of literals for which `Formula.at_most_one` adds a clause for each pair.
_PAIRWISE = 6


class Formula:
    """A formula as a list of clauses, with variables numbered from 1.

    The clauses depend only on the problem. So the formula can be written again later and is then
    the same.
    """

    def __init__(self) -> None:
        self.variables = 0
        self.clauses: list[list[int]] = []

    def new(self, *shape: int) -> NDArray[np.int32]:
        """Create variables, and return their numbers as an array of the given shape."""
        count = int(np.prod(shape))
        first = self.variables + 1
        self.variables += count
        return np.arange(first, first + count, dtype=np.int32).reshape(shape)

    def add(self, *literals: int) -> None:
        """Add a clause."""
        self.clauses.append([int(literal) for literal in literals])

    def at_most_one(self, literals: Sequence[int]) -> None:
        """Require that at most one of some literals is true."""
        if len(literals) <= _PAIRWISE:
            for a, b in combinations(literals, 2):
                self.add(-a, -b)
            return
        # before[i] means that one of the first i + 1 literals is true.
        before = self.new(len(literals) - 1)
        self.add(-literals[0], int(before[0]))
        for i in range(1, len(literals) - 1):
            self.add(-literals[i], int(before[i]))
            self.add(-int(before[i - 1]), int(before[i]))
            self.add(-literals[i], -int(before[i - 1]))
        self.add(-literals[-1], -int(before[-1]))

    def exactly_one(self, literals: Sequence[int]) -> None:
        """Require that exactly one of some literals is true."""
        self.add(*literals)
        self.at_most_one(literals)

    def at_most(self, literals: Sequence[int], bound: int) -> None:
        """Require that at most ``bound`` of some literals are true, by a sequential counter."""
        numbers = [int(literal) for literal in literals]
        if bound >= len(numbers):
            return
        if bound == 0:
            for literal in numbers:
                self.add(-literal)
            return
        # count[i, j] means that more than j of the first i + 1 literals are true.
        count = self.new(len(numbers), bound)
        # The sequential counter (Sinz 2005) needs additional variables, but it lets unit
        # propagation find every contradiction.
        for i, literal in enumerate(numbers):
            self.add(-literal, int(count[i, 0]))
            if i == 0:
                continue
            for j in range(bound):
                self.add(-int(count[i - 1, j]), int(count[i, j]))
                if j:
                    self.add(-literal, -int(count[i - 1, j - 1]), int(count[i, j]))
            self.add(-literal, -int(count[i - 1, bound - 1]))

    def dimacs(self) -> str:
        """Return the formula in the DIMACS format, which all solvers and checkers read."""
        lines = [f"p cnf {self.variables} {len(self.clauses)}"]
        lines += [" ".join(map(str, (*clause, 0))) for clause in self.clauses]
        return "\n".join(lines) + "\n"

    def sha256(self) -> str:
        """Return the SHA-256 of the formula in the DIMACS format."""
        return hashlib.sha256(self.dimacs().encode()).hexdigest()


def require_fit(literals: int, memory: int, subject: str) -> None:
    """Check, before a formula is written, that it will fit into a solver's memory.

    Args:
        literals: an estimate of the number of literals.
        memory: the memory limit in MB.
        subject: the subject of the formula, for messages.

    Raises:
        LimitError: the formula does not fit into the memory.
    """
    require_memory(literals * BYTES_PER_LITERAL, memory, f"the formula of {subject}")


def require_memory(size: int, memory: int, subject: str) -> None:
    """Check that ``size`` bytes do not exceed a memory limit in MB.

    Raises:
        LimitError: they exceed it.
    """
    needed = size // 10**6
    if needed > memory:
        raise LimitError(
            f"{subject} needs about {needed:,} MB, and the limit is {memory:,} MB",
            hint="choose a smaller topology, or raise --memory",
        )


def true_variables(model: Iterable[int], variables: int) -> NDArray[np.bool_]:
    """Return the values of variables, bool ``[variables + 1]``, given a model's literals."""
    values = np.zeros(variables + 1, dtype=bool)
    positive = [literal for literal in model if 0 < literal <= variables]
    values[positive] = True
    return values
