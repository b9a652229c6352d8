"""LaTeX tables, read by a strict reader and, if LaTeX is installed, compiled."""

import string
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast.support.errors import InputError
from starcast.support.latex import booktabs, escape_latex
from support.latex_tables import compile_latex, read_table, read_text

SPECIAL = r"a&b 50% $x$ #1 S_n {y} ~ ^ \ --all ''q'' [1] *2* |z| `k` ?` ,, <<x>>"
SYMBOLS = "Röhm é ß \N{MULTIPLICATION SIGN} \N{EN DASH} → ≤ λ"


def test_a_table_has_the_rules_of_booktabs_and_numbers_on_the_right() -> None:
    rows: list[list[Any]] = [["multiple", 12, 1.5, None], ["greedy", None, Fraction(1, 3), True]]
    assert booktabs(["algorithm", "steps", "time", "note"], rows) == (
        "% \\usepackage{booktabs}\n"
        "\\begin{tabular}{lrrl}\n"
        "\\toprule\n"
        "algorithm & steps & time & note \\\\\n"
        "\\midrule\n"
        "multiple & 12 & 1.5 &  \\\\\n"
        "greedy &  & 1/3 & yes \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}"
    )


def test_a_caption_or_a_label_turns_the_table_into_a_float() -> None:
    bare = read_table(booktabs(["a"], [[1]]))
    assert (bare.caption, bare.label) == (None, None)
    table = read_table(booktabs(["a"], [[1]], caption="50 % of S_n", label="tab:a_1"))
    assert (table.caption, table.label) == ("50 % of S_n", "tab:a_1")
    assert read_table(booktabs(["a"], [[1]], label="x")).label == "x"
    assert read_table(booktabs(["a"], [[1]], caption="")).caption == ""


def test_cells_are_bold_only_if_requested_and_not_empty() -> None:
    rows: list[list[Any]] = [[1, 2], [3, None]]
    table = read_table(booktabs(["a_1", "b"], rows, bold=[{"b"}, {"a_1", "b"}]))
    assert table.bold == [{"b"}, {"a 1"}]
    assert table.rows == [["1", "2"], ["3", ""]]


def test_column_names_and_topologies_use_math_mode_and_long_numbers_have_thin_spaces() -> None:
    columns = ["topology", "message_bytes", "t_s", "time_S5_greedy", "change_percent", "note"]
    rows: list[list[Any]] = [["S6,3", 65536, 100.0, 1099343.5, -0.0487, "S5 65536"]]
    lines = booktabs(columns, rows, caption="t_s 100 on S5 | Q10, n^2").splitlines()
    assert [lines[3], *lines[4:11:2]] == [
        r"\caption{$T_s$ 100 on $S_{5}$ \textbar{} $Q_{10}$, $n^2$}",
        r"\medskip",
        r"\toprule",
        r"\midrule",
        r"\bottomrule",
    ]
    lines = booktabs(columns, rows).splitlines()
    assert lines[3] == (
        r"topology & $m$, bytes & $T_s$ & time $S_{5}$ greedy & change, \% & note \\"
    )
    assert lines[5] == r"$S_{6,3}$ & 65\,536 & 100 & 1\,099\,344 & $-$0.0487 & S5 65536 \\"
    table = read_table(booktabs(columns, rows, caption="on S6,3"))
    assert (table.rows[0][0], table.caption) == ("S6,3", "on S6,3")


@pytest.mark.parametrize("text", [SPECIAL, SYMBOLS, "", "-", "---", "\\", "\\\\", "{", "}{"])
def test_special_characters_are_printed_unchanged(text: str) -> None:
    assert read_text(escape_latex(text)) == text
    table = read_table(booktabs([text, "b"], [[text, text]], caption=text))
    stripped = text.strip(" ")
    assert (table.columns[0], table.rows[0], table.caption) == (stripped, [stripped] * 2, text)


@given(st.text(alphabet=string.printable.replace('"', "") + SYMBOLS + "漢"))
def test_any_text_is_printed_unchanged_except_for_white_space(text: str) -> None:
    expected = " ".join(text.split()) if text.strip() else ""
    assert " ".join(read_text(escape_latex(text)).split()) == expected


def test_characters_without_a_latex_command_are_kept_and_control_characters_become_spaces() -> None:
    assert escape_latex("漢\x00\x1b[31m\u2028x\r\n") == "漢 {[}31m x "
    assert escape_latex('say "x"') == "say ''x''"


@pytest.mark.parametrize("start", ["[2pt]", "*"])
def test_the_start_of_a_row_is_not_read_as_an_argument_of_the_previous_line(start: str) -> None:
    """TeX reads a bracket or a star after the end of a line as an argument of that line."""
    lines = booktabs(["a"], [[1], [f"{start} x"]]).splitlines()
    assert lines[-3].startswith("{")


@pytest.mark.parametrize(
    ("rows", "arguments", "message"),
    [
        ([[1]], {}, "row 1 of the table has 1 values for 2 columns"),
        ([[1, 2]], {"alignment": "l"}, "'l' is not a valid alignment of 2 columns"),
        ([[1, 2]], {"alignment": "lx"}, "'lx' is not a valid alignment"),
        ([[1, 2]], {"label": "a}b"}, "'a}b' is not a valid label"),
        ([[1, 2]], {"label": ""}, "'' is not a valid label"),
    ],
)
def test_invalid_tables_are_refused(
    rows: Sequence[Sequence[Any]], arguments: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message) as refusal:
        booktabs(["a", "b"], rows, **arguments)
    assert refusal.value.hint


def test_the_alignment_of_columns_can_be_chosen() -> None:
    assert read_table(booktabs(["a", "b"], [[1, 2]], alignment="cl")).alignment == "cl"
    assert read_table(booktabs(["a", "b"], [])).alignment == "ll"


@pytest.mark.slow
def test_pdflatex_compiles_a_table(tmp_path: Path) -> None:
    table = booktabs(
        [SPECIAL, "b"], [[SYMBOLS, 1], [SPECIAL, 2]], SPECIAL, "tab:a", bold=[{"b"}, {SPECIAL}]
    )
    compile_latex(table, tmp_path)
