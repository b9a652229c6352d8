"""Checks of Li, Chen, Xiang & Yao 2007: whether tables, theorems and conclusion agree.

The expressions in this module are those printed in the paper, cleaned as described in
docs/definitions/nk-star.md. Their values are compared as exact numbers.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import factorial

from starcast.claims.check import ClaimCheck
from starcast.claims.registry import checks

from ..common.closed_forms import ExactNumber, arrangements, nk_diameter

#: The names of the coefficients of a table row. The columns start-up and transmission contain one
#: coefficient each. The column overall contains three: of T_s, m T_c and 2 sqrt(m T_s T_c).
COLUMNS = ("start-up", "transmission", "overall, T_s", "overall, m T_c", "overall, under the root")
#: A table: for each row, the coefficients that `COLUMNS` names.
TableCells = dict[str, tuple[ExactNumber, ...]]
#: For each row of a table, the coefficients of T_s, m T_c and 2 sqrt(m T_s T_c) in the theorem that
#: states the row's time.
Theorems = dict[str, tuple[ExactNumber, ExactNumber, ExactNumber]]

ONE_ALL = "one tree SP, all-port"
MANY_ALL = "trees MT, all-port"
ONE_ONE = "one tree SP, one-port"
MANY_ONE = "trees MT, one-port"
CHEN_ALL = "Y.S. Chen, all-port"
CHEN_ONE = "Y.S. Chen, one-port"


def table1(n: int, k: int) -> TableCells:
    """Return the coefficients in Table 1, by row and in the order of `COLUMNS`.

    The rows 'optimal' and the rows of Y.S. Chen's broadcasts are omitted.
    """
    d, links = nk_diameter(n, k), n - 1
    many = 2 * d - 1
    share = Fraction(1, links)
    all_others = Fraction(arrangements(n, k) - 1, links)
    return {
        ONE_ALL: (d, share, d, share, (d - 1) * share),
        MANY_ALL: (many, all_others, many, all_others, 0),
        ONE_ONE: (n * d, 1, links * (d - 1), 1, links * (d - 1)),
        MANY_ONE: (links * many, 1, links * many, 1, links * many),
    }


def theorems1(n: int, k: int) -> Theorems:
    """Return the coefficients of the times in Theorems 2, 8, 3 and 9, by row of Table 1."""
    one, links = nk_diameter(n, k) - 1, n - 1
    many = 2 * one + 1
    share = Fraction(1, links)
    return {
        ONE_ALL: (one, share, one * share),
        MANY_ALL: (many, share, many * share),
        ONE_ONE: (links * one, 1, links * one),
        MANY_ONE: (links * many, 1, links * many),
    }


def table2(n: int, k: int) -> TableCells:
    """Return the coefficients of the times in Table 2, by row and in the order of `COLUMNS`.

    The rows 'optimal' are omitted.
    """
    d, links = nk_diameter(n, k), n - 1
    many = 2 * d - 1
    others = arrangements(n, k) - 1
    share = Fraction(others, links)
    one_port = n * links * d
    return {
        ONE_ALL: (d, share, d, share, 0),
        MANY_ALL: (many, share, many, share, 0),
        ONE_ONE: (one_port, others, one_port, others, 0),
        MANY_ONE: (links * many, others, links * many, others, 0),
    }


def theorems2(n: int, k: int) -> Theorems:
    """Return the coefficients of the times in Theorems 4, 10, 5 and 11, by row of Table 2."""
    d, links = nk_diameter(n, k), n - 1
    others = arrangements(n, k) - 1
    share = Fraction(others, links)
    return {
        ONE_ALL: (d, share, 0),
        MANY_ALL: (2 * d - 1, share, 0),
        ONE_ONE: (n * links * d, others, 0),
        MANY_ONE: (links * (2 * d - 1), others, 0),
    }


def _cells(table: TableCells, theorems: Theorems) -> Iterator[tuple[str, str, Fraction, Fraction]]:
    """Yield each cell's row and column, and its coefficients in the table and in the theorem."""
    for row, terms in theorems.items():
        for column, printed, stated in zip(COLUMNS, table[row], (*terms[:2], *terms), strict=True):
            yield row, column, Fraction(printed), Fraction(stated)


@checks("NK.Tab1-theorems")
def table1_agrees_with_theorems(check: ClaimCheck) -> None:
    """Check whether Table 1 agrees with Theorems 2, 8, 3 and 9, term by term.

    In fact, some coefficients differ.
    """
    n, k = check.n_and_k
    diameter = nk_diameter(n, k)
    cells = list(_cells(table1(n, k), theorems1(n, k)))
    for row, column, printed, stated in cells:
        check.equal("coefficient of the term", printed, stated, row=row, column=column)
    correction = check.correction()
    more_bytes = Fraction(arrangements(n, k) - 2, n - 1)
    # All other cells agree, so the list of differences is complete.
    differences: dict[tuple[str, str], ExactNumber] = {
        (ONE_ALL, "start-up"): 1,
        (ONE_ALL, "overall, T_s"): 1,
        (MANY_ALL, "transmission"): more_bytes,
        (MANY_ALL, "overall, m T_c"): more_bytes,
        (MANY_ALL, "overall, under the root"): -Fraction(2 * diameter - 1, n - 1),
        (ONE_ONE, "start-up"): n + diameter - 1,
    }
    for row, column, printed, stated in cells:
        expected = Fraction(differences.get((row, column), 0))
        correction.equal("table less theorem", printed - stated, expected, row=row)


@checks("NK.Tab2-theorems")
def table2_agrees_with_theorems(check: ClaimCheck) -> None:
    """Check that Table 2 agrees with Theorems 4, 10, 5 and 11, term by term."""
    size = check.n_and_k
    for row, column, printed, stated in _cells(table2(*size), theorems2(*size)):
        check.equal("coefficient of the term", printed, stated, row=row, column=column)


def _chen(n: int, k: int) -> TableCells:
    """Return the start-ups and bytes of Y.S. Chen & Tai's broadcasts, by row of Table 1."""
    tail = Fraction((n - k - 2) * factorial(n - k + 1), factorial(n))
    return {
        CHEN_ALL: (2 * nk_diameter(n, k) - 1, Fraction(4, n - 1)),
        CHEN_ONE: (2 * n * k - n - k * k, 2 + tail),
    }


@checks("NK.S9-tables")
def conclusion_agrees_with_tables(check: ClaimCheck) -> None:
    """Check whether the times that the conclusion quotes agree with the tables.

    In fact, one quoted value differs from its table.
    """
    n, k = check.n_and_k
    correction = check.correction()
    tables = {1: table1(n, k) | _chen(n, k), 2: table2(n, k)}
    what = "coefficient of the term"
    for (table, row, column), quoted in _quotes(n, k).items():
        place = {"table": table, "row": row, "column": column}
        printed = Fraction(tables[table][row][COLUMNS.index(column)])
        check.equal(what, Fraction(quoted), printed, **place)
        # This is the only quoted value that differs from its table.
        wrong = (table, row, column) == (1, MANY_ONE, "start-up")
        expected = quoted + (n - 1) * nk_diameter(n, k) if wrong else quoted
        correction.equal(what, Fraction(expected), printed, **place)


def _quotes(n: int, k: int) -> dict[tuple[int, str, str], ExactNumber]:
    """Return the values that the conclusion quotes, by table, row and column."""
    d, links = nk_diameter(n, k), n - 1
    share = Fraction(arrangements(n, k) - 1, links)
    tail = Fraction((n - k - 2) * factorial(n - k + 1), factorial(n))
    return {
        (1, ONE_ALL, "start-up"): d,
        (1, ONE_ALL, "transmission"): Fraction(1, links),
        (1, CHEN_ALL, "start-up"): 2 * d - 1,
        (1, CHEN_ALL, "transmission"): Fraction(4, links),
        (1, MANY_ALL, "start-up"): 2 * d - 1,
        (1, MANY_ALL, "transmission"): share,
        (1, ONE_ONE, "start-up"): n * d,
        (1, ONE_ONE, "transmission"): 1,
        (1, CHEN_ONE, "start-up"): 2 * n * k - n - k * k,
        (1, CHEN_ONE, "transmission"): 2 + tail,
        (1, MANY_ONE, "start-up"): links * (d - 1),
        (1, MANY_ONE, "transmission"): 1,
        (2, ONE_ALL, "start-up"): d,
        (2, MANY_ALL, "start-up"): 2 * d - 1,
        (2, ONE_ALL, "transmission"): share,
        (2, MANY_ALL, "transmission"): share,
        (2, ONE_ONE, "start-up"): n * links * d,
        (2, MANY_ONE, "start-up"): links * (2 * d - 1),
    }
