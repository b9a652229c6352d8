"""Li, Chen, Xiang & Yao: comparison of the tables with the theorems and the conclusion.

All expressions are as printed (cleaned as described in docs/definitions/nk-star.md). They are
compared as exact numbers.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import factorial
from typing import NamedTuple

from starcast.claims.check import ClaimCheck
from starcast.claims.closed_forms import arrangements, nk_diameter
from starcast.claims.registry import checks

Value = int | Fraction


class Terms(NamedTuple):
    """The coefficients of a time T_s start_ups + m T_c bytes + 2 sqrt(m T_s T_c square)."""

    start_ups: Value
    bytes: Value
    square: Value = 0


#: A table row: the columns start-up and transmission, and the terms of the column overall.
WordingRow = tuple[Value, Value, Terms]


ROWS = (
    "one tree SP, all-port",
    "trees MT, all-port",
    "one tree SP, one-port",
    "trees MT, one-port",
)
COLUMNS = ("start-up", "transmission", "overall, T_s", "overall, m T_c", "overall, under the root")


def table1(n: int, k: int) -> tuple[WordingRow, ...]:
    """Return the coefficients of Table 1, in the order of `ROWS`."""
    diameter = nk_diameter(n, k)
    many = 2 * diameter - 1
    share = Fraction(1, n - 1)
    all_others = Fraction(arrangements(n, k) - 1, n - 1)
    one_port = (n - 1) * (diameter - 1)
    many_one_port = (n - 1) * many
    return (
        (diameter, share, Terms(diameter, share, Fraction(diameter - 1, n - 1))),
        (many, all_others, Terms(many, all_others)),
        (n * diameter, 1, Terms(one_port, 1, one_port)),
        (many_one_port, 1, Terms(many_one_port, 1, many_one_port)),
    )


def theorems1(n: int, k: int) -> tuple[Terms, ...]:
    """Return the coefficients of Theorems 2, 8, 3 and 9, in the order of `ROWS`."""
    one = nk_diameter(n, k) - 1
    many = 2 * nk_diameter(n, k) - 1
    share = Fraction(1, n - 1)
    return (
        Terms(one, share, one * share),
        Terms(many, share, many * share),
        Terms((n - 1) * one, 1, (n - 1) * one),
        Terms((n - 1) * many, 1, (n - 1) * many),
    )


def table2(n: int, k: int) -> tuple[WordingRow, ...]:
    """Return the coefficients of Table 2, in the order of `ROWS`."""
    diameter = nk_diameter(n, k)
    many = 2 * diameter - 1
    others = arrangements(n, k) - 1
    share = Fraction(others, n - 1)
    one_port = n * (n - 1) * diameter
    return (
        (diameter, share, Terms(diameter, share)),
        (many, share, Terms(many, share)),
        (one_port, others, Terms(one_port, others)),
        ((n - 1) * many, others, Terms((n - 1) * many, others)),
    )


def theorems2(n: int, k: int) -> tuple[Terms, ...]:
    """Return the coefficients of Theorems 4, 10, 5 and 11, in the order of `ROWS`."""
    diameter = nk_diameter(n, k)
    others = arrangements(n, k) - 1
    share = Fraction(others, n - 1)
    return (
        Terms(diameter, share),
        Terms(2 * diameter - 1, share),
        Terms(n * (n - 1) * diameter, others),
        Terms((n - 1) * (2 * diameter - 1), others),
    )


def _cells(
    rows: tuple[WordingRow, ...], theorems: tuple[Terms, ...]
) -> Iterator[tuple[str, str, Fraction, Fraction]]:
    """Yield the row, the column, the table's coefficient, and the theorem's coefficient."""
    for name, row, terms in zip(ROWS, rows, theorems, strict=True):
        in_table = (*row[:2], *row[2])
        in_theorem = (terms.start_ups, terms.bytes, *terms)
        for column, printed, stated in zip(COLUMNS, in_table, in_theorem, strict=True):
            yield name, column, Fraction(printed), Fraction(stated)


@checks("NK.Tab1-theorems")
def table1_agrees_with_theorems(check: ClaimCheck) -> None:
    """Compare Table 1 with Theorems 2, 8, 3 and 9, term by term."""
    n, k = check.n_and_k
    diameter = nk_diameter(n, k)
    cells = list(_cells(table1(n, k), theorems1(n, k)))
    for row, column, printed, stated in cells:
        check.equal("coefficient of the term", printed, stated, row=row, column=column)
    correction = check.correction()
    more_bytes = Fraction(arrangements(n, k) - 2, n - 1)
    # All other cells agree, so the list of differences is complete.
    differences: dict[tuple[str, str], Value] = {
        (ROWS[0], "start-up"): 1,
        (ROWS[0], "overall, T_s"): 1,
        (ROWS[1], "transmission"): more_bytes,
        (ROWS[1], "overall, m T_c"): more_bytes,
        (ROWS[1], "overall, under the root"): -Fraction(2 * diameter - 1, n - 1),
        (ROWS[2], "start-up"): n + diameter - 1,
    }
    for row, column, printed, stated in cells:
        expected = Fraction(differences.get((row, column), 0))
        correction.equal("table less theorem", printed - stated, expected, row=row)


@checks("NK.Tab2-theorems")
def table2_agrees_with_theorems(check: ClaimCheck) -> None:
    """Compare Table 2 with Theorems 4, 10, 5 and 11, term by term."""
    size = check.n_and_k
    for row, column, printed, stated in _cells(table2(*size), theorems2(*size)):
        check.equal("coefficient of the term", printed, stated, row=row, column=column)


CHEN_ALL = "Y.S. Chen, all-port"
CHEN_ONE = "Y.S. Chen, one-port"


def _chen(n: int, k: int) -> dict[str, tuple[Value, Value]]:
    """Return start-up and transmission of Y.S. Chen's broadcasts in Table 1, by row."""
    tail = Fraction((n - k - 2) * factorial(n - k + 1), factorial(n))
    return {
        CHEN_ALL: (2 * nk_diameter(n, k) - 1, Fraction(4, n - 1)),
        CHEN_ONE: (2 * n * k - n - k * k, 2 + tail),
    }


@checks("NK.S9-tables")
def conclusion_agrees_with_tables(check: ClaimCheck) -> None:
    """Compare the times quoted in the conclusion with the tables, in the order of the text."""
    n, k = check.n_and_k
    correction = check.correction()
    first = dict(zip(ROWS, (cells[:2] for cells in table1(n, k)), strict=True))
    second = dict(zip(ROWS, (cells[:2] for cells in table2(n, k)), strict=True))
    tables = {1: first | _chen(n, k), 2: second}
    what = "coefficient of the term"
    for (table, row, column), quoted in _quotes(n, k).items():
        place = {"table": table, "row": row, "column": column}
        printed = Fraction(tables[table][row][COLUMNS.index(column)])
        check.equal(what, Fraction(quoted), printed, **place)
        # This is the only quoted value that differs from its table.
        wrong = (table, row, column) == (1, "trees MT, one-port", "start-up")
        expected = quoted + (n - 1) * nk_diameter(n, k) if wrong else quoted
        correction.equal(what, Fraction(expected), printed, **place)


def _quotes(n: int, k: int) -> dict[tuple[int, str, str], Value]:
    """Return the values that the conclusion quotes, by table, row and column."""
    diameter = nk_diameter(n, k)
    share = Fraction(arrangements(n, k) - 1, n - 1)
    one_all, many_all, one_one, many_one = ROWS
    tail = Fraction((n - k - 2) * factorial(n - k + 1), factorial(n))
    return {
        (1, one_all, "start-up"): diameter,
        (1, one_all, "transmission"): Fraction(1, n - 1),
        (1, CHEN_ALL, "start-up"): 2 * diameter - 1,
        (1, CHEN_ALL, "transmission"): Fraction(4, n - 1),
        (1, many_all, "start-up"): 2 * diameter - 1,
        (1, many_all, "transmission"): share,
        (1, one_one, "start-up"): n * diameter,
        (1, one_one, "transmission"): 1,
        (1, CHEN_ONE, "start-up"): 2 * n * k - n - k * k,
        (1, CHEN_ONE, "transmission"): 2 + tail,
        (1, many_one, "start-up"): (n - 1) * (diameter - 1),
        (1, many_one, "transmission"): 1,
        (2, one_all, "start-up"): diameter,
        (2, many_all, "start-up"): 2 * diameter - 1,
        (2, one_all, "transmission"): share,
        (2, many_all, "transmission"): share,
        (2, one_one, "start-up"): n * (n - 1) * diameter,
        (2, many_one, "start-up"): (n - 1) * (2 * diameter - 1),
    }
