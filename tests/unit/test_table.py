"""The class `Table`: access to rows, conversions, and display in notebooks and interpreters."""

import json
import math
import sys
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from starcast.cli.output import emit
from starcast.support.errors import InputError, UnavailableError
from starcast.support.table import MAX_SHOWN, Table, properties
from starcast.support.vocabulary import Format, LoadMethod

COLUMNS = ("name", "time", "levels")
ROWS: list[dict[str, Any]] = [
    {"name": "a<b", "time": Fraction(7, 2), "levels": [1, 3]},
    {"name": "c", "time": None, "levels": []},
]


@pytest.fixture
def table() -> Table:
    return Table.of(ROWS, COLUMNS, "two of 5")


def test_a_table_is_a_sequence_of_rows_with_named_columns(table: Table) -> None:
    assert (len(table), table[0], list(table)) == (2, ROWS[0], ROWS)
    assert table["name"] == ["a<b", "c"]
    assert table.select("levels", "name").columns == ("levels", "name")
    assert table.select("levels", "name")[1] == {"levels": [], "name": "c"}


def test_rows_of_a_table_are_selected_by_slices_and_numpy_integers(table: Table) -> None:
    assert table[:1] == Table(table.columns, table.rows[:1])
    assert table[::-1].columns == table.columns
    assert table[np.int64(-1)] == table.rows[-1]
    with pytest.raises(IndexError):
        table[len(table)]


def test_the_error_for_an_unknown_table_column_suggests_a_similar_name(table: Table) -> None:
    with pytest.raises(InputError, match="no column 'tme'") as refusal:
        table["tme"]
    assert "did you mean 'time'?" in refusal.value.hint


def test_a_table_in_json_contains_plain_numbers_lists_and_null(table: Table) -> None:
    assert json.loads(table.to_json()) == [
        {"name": "a<b", "time": 3.5, "levels": [1, 3]},
        {"name": "c", "time": None, "levels": []},
    ]


def test_nan_and_infinity_in_a_table_become_null_in_json(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows: list[dict[str, Any]] = [{"x": math.nan, "y": [np.float64("-inf"), Fraction(1, 2), "é"]}]
    emit(rows, ["x", "y"], Format.JSON)
    printed = capsys.readouterr().out
    assert printed.strip() == Table.of(rows, ("x", "y")).to_json()
    assert json.loads(printed) == [{"x": None, "y": [None, 0.5, "é"]}]


def test_a_table_is_converted_to_data_frames_of_polars_and_pandas(table: Table) -> None:
    expected = {"name": ["a<b", "c"], "time": [3.5, None], "levels": [[1, 3], []]}
    assert table.to_polars().to_dict(as_series=False) == expected
    assert isinstance(table.to_polars(), pl.DataFrame)
    frame = table.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == list(COLUMNS)
    assert frame["levels"].tolist() == expected["levels"]
    assert frame["time"].isna().tolist() == [False, True]


def test_table_columns_with_values_of_different_types_become_text_in_polars() -> None:
    values = properties(
        {"path": Path("/tmp"), "method": LoadMethod.BOLT, "count": 3, "when": datetime.now(UTC)}
    )
    assert values.to_polars().schema["value"] == pl.String
    assert values.to_polars()["value"].to_list()[:3] == ["/tmp", "bolt", "3"]


@pytest.mark.parametrize("others", [[], [2.5], [None, 1]])
def test_integers_that_are_too_large_for_polars_become_floats(others: list[float | None]) -> None:
    times: list[float | None] = [4 * 10**60, -(2**127), *others]
    assert Table.of([{"time": time} for time in times], ["time"]).to_polars()["time"].to_list() == [
        4e60, -(2.0**127), *others,
    ]  # fmt: skip
    exact = Table.of([{"time": 10**30}], ["time"])
    assert exact.to_polars()["time"].to_list() == [10**30]


def test_an_empty_table_keeps_its_columns() -> None:
    empty = Table.of([], COLUMNS)
    assert empty.to_polars().columns == list(empty.to_pandas().columns) == list(COLUMNS)
    assert str(empty) == "name  time  levels"
    assert empty.html().count("<th ") == 3


def test_a_latex_table_has_rules_and_escaped_text(table: Table) -> None:
    text = Table.of([{"share": "50 %"}], ["share"]).to_latex("All & more", "tab:x")
    assert r"\toprule" in text
    assert r"50 \%" in text
    assert r"\label{tab:x}" in text
    with pytest.raises(InputError):
        table.to_latex(alignment="lx")


def test_an_html_table_escapes_text_and_shows_the_note(table: Table) -> None:
    page = table.html()
    assert "a&lt;b" in page
    assert "a<b" not in page
    assert "two of 5" in page
    assert page.count("<tr>") == 3


def test_notebooks_show_the_first_rows_of_a_long_table_and_the_number_of_rows() -> None:
    long = Table.of(({"n": n} for n in range(1_000)), ["n"])
    page = long._repr_html_()
    assert page.count("<tr>") == MAX_SHOWN + 1
    assert f"{MAX_SHOWN} of 1,000 rows" in page
    assert long.html().count("<tr>") == 1_001
    assert str(long).count("\n") == MAX_SHOWN + 1


def test_columns_of_a_table_are_aligned_in_text() -> None:
    rows = [{"name": "a", "n": 10}, {"name": "bcd", "n": 9}]
    assert str(Table.of(rows, ["name", "n"])) == "name   n\na     10\nbcd    9"


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_the_error_for_a_missing_data_frame_library_says_what_to_install(
    library: str, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UnavailableError, match=f"{library} is not installed") as refusal:
        table.to_polars() if library == "polars" else table.to_pandas()
    assert refusal.value.hint == f"install it with: pip install {library}"
