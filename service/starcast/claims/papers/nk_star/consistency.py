"""Li, Chen, Xiang & Yao: whether the tables say what the theorems say, and the conclusion what the tables say.

All expressions are written out as printed (cleaned as in docs/definitions/nk-star.md) and compared as exact numbers.
"""

from fractions import Fraction
from math import factorial
from typing import NamedTuple

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import arrangements, nk_diameter
from starcast.claims.reference.nk_labels import size
from starcast.claims.registry import check

Value = int | Fraction


class Terms(NamedTuple):
    """T_s start-ups + m T_c bytes + 2 sqrt(m T_s T_c square)."""

    start_ups: Value
    bytes: Value
    square: Value = 0


class Row(NamedTuple):
    """A row of a table: its columns start-up, transmission and overall."""

    start_ups: Value
    bytes: Value
    overall: Terms


ROWS = (
    "one tree SP, all-port",
    "trees MT, all-port",
    "one tree SP, one-port",
    "trees MT, one-port",
)
COLUMNS = ("start-up", "transmission", "overall, T_s", "overall, m T_c", "overall, under the root")


def table1(n: int, k: int) -> tuple[Row, ...]:
    """Table 1, in the order of `ROWS`."""
    high, others = nk_diameter(n, k), arrangements(n, k) - 1
    share, all_others = Fraction(1, n - 1), Fraction(others, n - 1)
    return (
        Row(high, share, Terms(high, share, Fraction(high - 1, n - 1))),
        Row(2 * high - 1, all_others, Terms(2 * high - 1, all_others)),
        Row(n * high, 1, Terms((n - 1) * (high - 1), 1, (n - 1) * (high - 1))),
        Row(
            (n - 1) * (2 * high - 1),
            1,
            Terms((n - 1) * (2 * high - 1), 1, (n - 1) * (2 * high - 1)),
        ),
    )


def theorems1(n: int, k: int) -> tuple[Terms, ...]:
    """Theorems 2, 8, 3 and 9, in the order of `ROWS`."""
    high, share = nk_diameter(n, k), Fraction(1, n - 1)
    return (
        Terms(high - 1, share, Fraction(high - 1, n - 1)),
        Terms(2 * high - 1, share, Fraction(2 * high - 1, n - 1)),
        Terms((n - 1) * (high - 1), 1, (n - 1) * (high - 1)),
        Terms((n - 1) * (2 * high - 1), 1, (n - 1) * (2 * high - 1)),
    )


def table2(n: int, k: int) -> tuple[Row, ...]:
    """Table 2, in the order of `ROWS`."""
    high, others = nk_diameter(n, k), arrangements(n, k) - 1
    share = Fraction(others, n - 1)
    return (
        Row(high, share, Terms(high, share)),
        Row(2 * high - 1, share, Terms(2 * high - 1, share)),
        Row(n * (n - 1) * high, others, Terms(n * (n - 1) * high, others)),
        Row((n - 1) * (2 * high - 1), others, Terms((n - 1) * (2 * high - 1), others)),
    )


def theorems2(n: int, k: int) -> tuple[Terms, ...]:
    """Theorems 4, 10, 5 and 11, in the order of `ROWS`."""
    high, others = nk_diameter(n, k), arrangements(n, k) - 1
    share = Fraction(others, n - 1)
    return (
        Terms(high, share),
        Terms(2 * high - 1, share),
        Terms(n * (n - 1) * high, others),
        Terms((n - 1) * (2 * high - 1), others),
    )


def _cells(row: Row) -> tuple[Value, ...]:
    return (row.start_ups, row.bytes, *row.overall)


def _stated(terms: Terms) -> tuple[Value, ...]:
    return (terms.start_ups, terms.bytes, *terms)


@check("NK.Tab1-theorems")
def _table1_as_theorems(check: ClaimCheck) -> None:
    n, k = check.topology.n, size(check.topology)
    high, others = nk_diameter(n, k), arrangements(n, k) - 1
    for name, row, terms in zip(ROWS, table1(n, k), theorems1(n, k), strict=True):
        for column, found, stated in zip(COLUMNS, _cells(row), _stated(terms), strict=True):
            check.equal(
                "coefficient of the term",
                Fraction(found),
                Fraction(stated),
                row=name,
                column=column,
            )
    true = check.correction(
        "they agree but for the row one tree, all-port, with D T_s for (D-1)T_s, the row trees MT, all-port, with "
        "m(N-1)/(n-1) for m/(n-1) and without the root, and the start-up of one tree, one-port, with n D for (n-1)(D-1)"
    )
    more: dict[tuple[int, int], Value] = {
        (0, 0): 1,
        (0, 2): 1,
        (1, 1): Fraction(others - 1, n - 1),
        (1, 3): Fraction(others - 1, n - 1),
        (1, 4): -Fraction(2 * high - 1, n - 1),
        (2, 0): n + high - 1,
    }
    for at, (row, terms) in enumerate(zip(table1(n, k), theorems1(n, k), strict=True)):
        for place, (found, stated) in enumerate(zip(_cells(row), _stated(terms), strict=True)):
            true.equal(
                "table less theorem",
                Fraction(found - stated),
                Fraction(more.get((at, place), 0)),
                row=ROWS[at],
            )


@check("NK.Tab2-theorems")
def _table2_as_theorems(check: ClaimCheck) -> None:
    n, k = check.topology.n, size(check.topology)
    for name, row, terms in zip(ROWS, table2(n, k), theorems2(n, k), strict=True):
        for column, found, stated in zip(COLUMNS, _cells(row), _stated(terms), strict=True):
            check.equal(
                "coefficient of the term",
                Fraction(found),
                Fraction(stated),
                row=name,
                column=column,
            )


def _chen(n: int, k: int) -> tuple[Value, Value, Value, Value]:
    """Y.S. Chen in Table 1: start-up and transmission, all-port; the same, one-port."""
    return (
        2 * nk_diameter(n, k) - 1,
        Fraction(4, n - 1),
        2 * n * k - n - k * k,
        2 + Fraction((n - k - 2) * factorial(n - k + 1), factorial(n)),
    )


@check("NK.S9-tables")
def _conclusion_as_tables(check: ClaimCheck) -> None:
    n, k = check.topology.n, size(check.topology)
    true = check.correction(
        "they are but for the start-up of the trees MT, one-port, in Table 1: (n-1)(2D-1), quoted as (n-1)(D-1)"
    )
    for (table, row, column), (quoted, printed) in _quotes(n, k).items():
        check.equal(
            "coefficient of the term",
            Fraction(quoted),
            Fraction(printed),
            table=table,
            row=row,
            column=column,
        )
        wrong = (table, row, column) == (1, ROWS[3], COLUMNS[0])
        expected = quoted + (n - 1) * nk_diameter(n, k) if wrong else quoted
        true.equal(
            "coefficient of the term",
            Fraction(expected),
            Fraction(printed),
            table=table,
            row=row,
            column=column,
        )


def _quotes(n: int, k: int) -> dict[tuple[int, str, str], tuple[Value, Value]]:
    """By table, row and column: what the conclusion quotes, and what is printed there."""
    high, others = nk_diameter(n, k), arrangements(n, k) - 1
    start_up, transmission = COLUMNS[:2]
    chen = "Y.S. Chen, all-port", "Y.S. Chen, one-port"
    first, second, cited = table1(n, k), table2(n, k), _chen(n, k)
    tail = Fraction((n - k - 2) * factorial(n - k + 1), factorial(n))
    return {
        (1, ROWS[0], start_up): (high, first[0].start_ups),
        (1, ROWS[0], transmission): (Fraction(1, n - 1), first[0].bytes),
        (1, chen[0], start_up): (2 * high - 1, cited[0]),
        (1, chen[0], transmission): (Fraction(4, n - 1), cited[1]),
        (1, ROWS[1], start_up): (2 * high - 1, first[1].start_ups),
        (1, ROWS[1], transmission): (Fraction(others, n - 1), first[1].bytes),
        (1, ROWS[2], start_up): (n * high, first[2].start_ups),
        (1, ROWS[2], transmission): (1, first[2].bytes),
        (1, chen[1], start_up): (2 * n * k - n - k * k, cited[2]),
        (1, chen[1], transmission): (2 + tail, cited[3]),
        (1, ROWS[3], start_up): ((n - 1) * (high - 1), first[3].start_ups),
        (1, ROWS[3], transmission): (1, first[3].bytes),
        (2, ROWS[0], start_up): (high, second[0].start_ups),
        (2, ROWS[1], start_up): (2 * high - 1, second[1].start_ups),
        (2, ROWS[0], transmission): (Fraction(others, n - 1), second[0].bytes),
        (2, ROWS[1], transmission): (Fraction(others, n - 1), second[1].bytes),
        (2, ROWS[2], start_up): (n * (n - 1) * high, second[2].start_ups),
        (2, ROWS[3], start_up): ((n - 1) * (2 * high - 1), second[3].start_ups),
    }
