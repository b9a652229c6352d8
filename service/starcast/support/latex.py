"""Tables in LaTeX, with the package booktabs."""

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from starcast.support.errors import InputError, escape
from starcast.support.text import format_value, is_numeric

if TYPE_CHECKING:
    from pylatexenc.latexencode import UnicodeToLatexEncoder

#: Characters that pylatexenc leaves unchanged although TeX would misread them. For example, it
#: would take brackets and stars after ``\\`` for arguments, and print a bar as a dash in its oldest
#: font encoding.
_PROTECTED = {
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
}
#: Pairs of characters that TeX would combine into a ligature; braces separate them.
_LIGATURE = re.compile(r"([-,'])(?=\1)")
_LABEL = re.compile(r"[A-Za-z0-9:_.+/-]+")
_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029\ufeff]+")
#: The papers' symbols for columns and parameters.
_SYMBOLS = {
    "t_s": "$T_s$",
    "t_c": "$T_c$",
    "T_s": "$T_s$",
    "T_c": "$T_c$",
    "message_bytes": "$m$, bytes",
    "segments": "$p$",
    "messages": "$M$",
    "message_units": "pieces",
    "change_percent": r"change, \%",
}
_MATHEMATICS = re.compile(r"\b([SQ]\d+(?:,\d+)?|[tT]_[sc]|[a-z]\^\d)\b")
_NAME = re.compile(r"[a-z]+(_\w+)*", re.ASCII)
_LONG = re.compile(r"-?\d{5,}")
_ALIGNMENTS = frozenset("lcr")


def booktabs(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    caption: str | None = None,
    label: str | None = None,
    alignment: str | None = None,
    bold: Sequence[Collection[str]] = (),
) -> str:
    r"""Return a table as LaTeX code; the document must load the package booktabs.

    Headings consist of words and mathematics: ``time_ours`` becomes "time ours", and t_s becomes T
    with the index s. In topology columns, a spec such as S5 becomes S with the index 5. Thin spaces
    separate thousands. Other text is escaped, so that it is printed unchanged. Letters and symbols
    outside ASCII become LaTeX macros. Those without a macro, such as Chinese characters, are kept
    for XeLaTeX and LuaLaTeX.

    Args:
        columns: the names of the columns.
        rows: for each row, one value per column: a string, a number, None for an empty cell, or any
            other value that `starcast.support.text.format_value` can write.
        caption: the caption. With a caption or a label the table is a float, ``table``; without
            them, it is a bare ``tabular``.
        label: the name for ``\ref``: ASCII letters, digits and ``: _ . + / -``.
        alignment: a letter l, c or r per column; by default columns of numbers are aligned right
            and all others left.
        bold: for each row, the names of the columns whose cells are bold (default: none).

    Raises:
        InputError: the label or the alignment is invalid, or the number of values in a row differs
            from the number of columns.

    Example:
        >>> print(booktabs(["n", "share"], [[3, "50 %"]]))
        % \usepackage{booktabs}
        \begin{tabular}{rl}
        \toprule
        n & share \\
        \midrule
        3 & 50 \% \\
        \bottomrule
        \end{tabular}
    """
    table = [list(values) for values in rows]
    _check_widths(columns, table)
    emphasized = bold or [()] * len(table)
    lines = [
        "% \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{{_alignment(columns, table, alignment)}}}",
        "\\toprule",
        _line([_head(name) for name in columns]),
        "\\midrule",
    ]
    for values, names in zip(table, emphasized, strict=True):
        cells = [_cell(name, value) for name, value in zip(columns, values, strict=True)]
        lines.append(
            _line(
                [
                    f"\\textbf{{{cell}}}" if cell and name in names else cell
                    for name, cell in zip(columns, cells, strict=True)
                ]
            )
        )
    lines += ["\\bottomrule", "\\end{tabular}"]
    return "\n".join(lines if caption is None and label is None else _float(lines, caption, label))


def escape_latex(text: str) -> str:
    """Return LaTeX code that prints the given text unchanged, on one line."""
    # The no-break space has a macro.
    cleaned = escape(_INVISIBLE.sub(" ", text), kept="\xa0")
    return str(_encoder().unicode_to_latex(cleaned))


def typeset(text: str) -> str:
    """Return text as LaTeX code, with topology specs and axis names as mathematics."""
    parts = _MATHEMATICS.split(text)
    return "".join(
        _symbol(part) if turn % 2 else escape_latex(part) for turn, part in enumerate(parts)
    )


def _symbol(text: str) -> str:
    if text in _SYMBOLS:
        return _SYMBOLS[text]
    if "^" in text:
        return f"${text}$"
    letter, index = text[0], text[1:]
    return f"${letter}_{{{index}}}$"


def _head(name: str) -> str:
    if not _NAME.fullmatch(name):
        return escape_latex(name)
    known = next((each for each in _SYMBOLS if f"{name}_".startswith(f"{each}_")), "")
    rest = typeset(name[len(known) :].replace("_", " "))
    return f"{_SYMBOLS.get(known, '')}{rest}".strip()


def _cell(column: str, value: Any) -> str:
    text = format_value(value)
    if column.startswith("topology"):
        return typeset(text)
    is_number = is_numeric([value])
    if is_number and _LONG.fullmatch(text):
        text = f"{int(text):,}"
    if not is_number:
        return escape_latex(text)
    # Outside mathematics, TeX would print a hyphen instead of a minus sign.
    return re.sub("^-", "$-$", text).replace(",", r"\,")


@cache
def _encoder() -> "UnicodeToLatexEncoder":
    """Return pylatexenc's encoder, whose tables are loaded on first use."""
    from pylatexenc.latexencode import (  # noqa: PLC0415 - only for LaTeX
        RULE_DICT,
        RULE_REGEX,
        UnicodeToLatexConversionRule,
        UnicodeToLatexEncoder,
    )

    protected = {ord(character): macro for character, macro in _PROTECTED.items()}
    return UnicodeToLatexEncoder(
        conversion_rules=[
            UnicodeToLatexConversionRule(RULE_DICT, protected),
            UnicodeToLatexConversionRule(RULE_REGEX, [(_LIGATURE, r"\1{}")]),
            "defaults",
        ],
        # Braces end a macro. Without them, TeX would swallow a space after the macro.
        replacement_latex_protection="braces-after-macro",
        unknown_char_policy="keep",
        unknown_char_warning=False,
    )


def _line(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def _float(tabular: list[str], caption: str | None, label: str | None) -> list[str]:
    needed, *lines = tabular
    head = [needed, "\\begin{table}", "\\centering"]
    if caption is not None:
        # LaTeX leaves no space between a caption and the table below it.
        head += [f"\\caption{{{typeset(caption)}}}", "\\medskip"]
    if label is not None:
        if not _LABEL.fullmatch(label):
            raise InputError(
                f"'{label}' is not a valid label of a LaTeX table",
                hint="use ASCII letters, digits and : _ . + / -",
            )
        head.append(f"\\label{{{label}}}")
    return [*head, *lines, "\\end{table}"]


def _alignment(
    columns: Sequence[str], table: Sequence[Sequence[Any]], alignment: str | None
) -> str:
    if alignment is None:
        numeric = (is_numeric(row[index] for row in table) for index in range(len(columns)))
        return "".join("r" if is_right else "l" for is_right in numeric)
    if len(alignment) != len(columns) or not _ALIGNMENTS.issuperset(alignment):
        raise InputError(
            f"'{alignment}' is not a valid alignment of {len(columns)} columns",
            hint="give each column a letter: l, c or r",
        )
    return alignment


def _check_widths(columns: Sequence[str], table: Sequence[Sequence[Any]]) -> None:
    for number, row in enumerate(table, start=1):
        if len(row) != len(columns):
            raise InputError(
                f"row {number} of the table has {len(row)} values for {len(columns)} columns",
                hint="give each row one value per column; None leaves a cell empty",
            )
