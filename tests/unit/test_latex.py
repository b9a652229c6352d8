"""LaTeX tables, checked by a strict parser and, if LaTeX is installed, compiled."""

import random
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
SYMBOLS = "Röhm é ß L\u0302 \N{MULTIPLICATION SIGN} \N{EN DASH} → ≤ λ"


def test_a_latex_table_has_booktabs_rules_and_right_aligned_numbers() -> None:
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


def test_a_caption_or_a_label_turns_a_latex_table_into_a_float() -> None:
    bare = read_table(booktabs(["a"], [[1]]))
    assert (bare.caption, bare.label) == (None, None)
    table = read_table(booktabs(["a"], [[1]], caption="50 % of S_n", label="tab:a_1"))
    assert (table.caption, table.label) == ("50 % of S_n", "tab:a_1")
    assert read_table(booktabs(["a"], [[1]], label="x")).label == "x"
    assert read_table(booktabs(["a"], [[1]], caption="")).caption == ""


def test_cells_of_a_latex_table_are_bold_only_if_requested_and_not_empty() -> None:
    rows: list[list[Any]] = [[1, 2], [3, None]]
    table = read_table(booktabs(["a_1", "b"], rows, bold=[{"b"}, {"a_1", "b"}]))
    assert table.bold == [{"b"}, {"a 1"}]
    assert table.rows == [["1", "2"], ["3", ""]]


def test_symbols_in_latex_use_math_mode_and_long_numbers_have_thin_spaces() -> None:
    columns = ["topology", "message_bytes", "t_s", "time_S5_greedy", "change_percent", "note"]
    rows: list[list[Any]] = [["S6,3", 65536, 100.0, 1099343.5, -0.0487, "S5 65536"]]
    caption = "t_s 100 on S5 | Q10, n^2"
    lines = booktabs(columns, rows, caption=caption, wide=True).splitlines()
    assert lines[3] == r"\caption{$T_s$ 100 on $S_{5}$ \textbar{} $Q_{10}$, $n^2$}"
    assert lines[4] == r"\medskip"
    lines = booktabs(columns, rows, wide=True).splitlines()
    assert lines[6] == (
        r"topology & $m$, bytes & $T_s$ & time $S_{5}$ greedy & change, \% & note \\"
    )
    assert lines[8] == r"$S_{6,3}$ & 65\,536 & 100 & 1\,099\,344 & $-$0.0487 & S5 65536 \\"
    table = read_table(booktabs(columns, rows, caption="on S6,3"))
    assert (table.rows[0][0], table.caption) == ("S6,3", "on S6,3")


@pytest.mark.parametrize("text", [SPECIAL, SYMBOLS, "", "-", "---", "\\", "\\\\", "{", "}{"])
def test_latex_prints_special_characters_unchanged(text: str) -> None:
    assert read_text(escape_latex(text)) == text
    table = read_table(booktabs([text, "b"], [[text, text]], caption=text))
    stripped = text.strip(" ")
    assert (table.columns[0], table.rows[0], table.caption) == (stripped, [stripped] * 2, text)


@given(st.text(alphabet=string.printable.replace('"', "") + SYMBOLS + "漢"))
def test_latex_prints_random_text_unchanged_except_for_white_space(text: str) -> None:
    expected = " ".join(text.split()) if text.strip() else ""
    assert " ".join(read_text(escape_latex(text)).split()) == expected


def test_characters_without_a_latex_command_are_kept_and_control_characters_become_spaces() -> None:
    assert escape_latex("漢\x00\x1b[31m\u2028x\r\n") == "漢 {[}31m x "
    assert escape_latex('say "x"') == "say ''x''"


@pytest.mark.parametrize("start", ["[2pt]", "*"])
def test_a_latex_row_that_starts_with_a_bracket_or_a_star_is_put_in_braces(start: str) -> None:
    """LaTeX takes a bracket or a star after a line break command as an argument of the command."""
    lines = booktabs(["a"], [[1], [f"{start} x"]]).splitlines()
    assert lines[-3].startswith("{")


@pytest.mark.parametrize(
    ("rows", "arguments", "message"),
    [
        ([[1]], {}, "row 1 of the table has 1 value for 2 columns"),
        ([[1, 2]], {"alignment": "l"}, "'l' is not a valid alignment for 2 columns"),
        ([[1, 2]], {"alignment": "lx"}, "'lx' is not a valid alignment"),
        ([[1, 2]], {"label": "a}b"}, "'a}b' is not a valid label"),
        ([[1, 2]], {"label": ""}, "'' is not a valid label"),
    ],
)
def test_invalid_latex_tables_are_refused(
    rows: Sequence[Sequence[Any]], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message) as refusal:
        booktabs(["a", "b"], rows, **arguments)
    assert refusal.value.hint


def test_the_alignment_of_the_columns_of_a_latex_table_can_be_chosen() -> None:
    assert read_table(booktabs(["a", "b"], [[1, 2]], alignment="cl")).alignment == "cl"
    assert read_table(booktabs(["a", "b"], [])).alignment == "ll"


#: A table that fits into a column only in a small font and with column heads of two lines.
SMALL: dict[str, Any] = {
    "columns": ["algorithm", "message_bytes", "time_A", "time_B", "simulated_time"],
    "rows": [["recursive-substar", 65536, 1099343, 1099343, 1099343]],
}


def test_a_wide_latex_table_gets_a_small_font_and_column_heads_of_several_lines() -> None:
    text = booktabs(**SMALL, below=["A = ours", "B = 50 %"])
    assert r"recursive-substar & 65\,536" in text
    assert r"\shortstack[r]{time\\A} & \shortstack[r]{time\\B} &" in text
    table = read_table(text)
    assert table.columns == ["algorithm", "m, bytes", "time A", "time B", "simulated time"]
    assert (table.below, table.is_wide, table.is_small) == (["A = ours", "B = 50 %"], False, True)
    wide = read_table(booktabs(**SMALL, below=["A = ours"], wide=True))
    assert (wide.is_wide, wide.label) == (True, None)


def test_a_latex_table_that_is_too_wide_omits_spare_columns_wraps_text_or_is_scaled() -> None:
    columns = ["a", "b", "c"]
    rows = [["seven words in a row are wrapped", 10**8, 10**8]]
    narrow = read_table(booktabs(columns, rows, spare=["b", "a"]))
    assert (narrow.columns, narrow.is_scaled) == (["a", "c"], False)
    assert booktabs(columns, rows, spare=["b", "a"]).endswith("\n% not shown: b")
    assert read_table(booktabs(columns, rows)).alignment == "prr"
    scaled = read_table(booktabs(columns, [["word", "x" * 50, "x" * 50]]))
    assert (scaled.columns, scaled.is_scaled) == (columns, True)


@pytest.mark.slow
@pytest.mark.parametrize("options", ["twocolumn", "onecolumn", "a4paper,twocolumn"])
def test_no_latex_table_is_wider_than_its_text_column(tmp_path: Path, options: str) -> None:
    """Cells consist of very wide or very narrow characters, and some cells are bold."""
    draw = random.Random(1)  # noqa: S311 - not for secrets
    alphabets = ("MW@", "mw", "il.", "0123456789", "ABCDE fghij", string.printable, "a-b ")
    tables = []
    for number in range(1, 61):
        count = number % 9 + 1
        columns = [f"{'simulated_' * draw.randrange(3)}m{place}" for place in range(count)]
        rows = [
            [
                "".join(draw.choices(draw.choice(alphabets), k=draw.randrange(120 // count)))
                if draw.random() < 0.6
                else draw.randrange(10 ** draw.randrange(1, 9))
                for _ in range(count)
            ]
            for _ in range(4)
        ]
        is_float = number % 2 == 0
        text = booktabs(
            columns, rows, "caption" if is_float else None, bold=[columns[::2]] * 4,
            spare=columns[1:3], wide=is_float and number % 4 == 0,
        )  # fmt: skip
        tables.append(f"{text}\n\n\\clearpage")
    log = compile_latex("\n".join(tables), tmp_path, options)
    assert "Overfull" not in log


@pytest.mark.slow
def test_pdflatex_compiles_a_table_with_special_characters(tmp_path: Path) -> None:
    table = booktabs(
        [SPECIAL, "b"], [[SYMBOLS, 1], [SPECIAL, 2]], SPECIAL, "tab:a", bold=[{"b"}, {SPECIAL}]
    )
    compile_latex(table, tmp_path)
