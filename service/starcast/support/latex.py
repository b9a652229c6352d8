"""Tables in LaTeX, with the package booktabs."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from starcast.support.errors import InputError, escape
from starcast.support.text import fold_widths, format_value, is_numeric, pluralize

if TYPE_CHECKING:
    from pylatexenc.latexencode import UnicodeToLatexEncoder

#: Characters that pylatexenc leaves unchanged although TeX would misread them. For example, TeX
#: would read brackets and stars after ``\\`` as arguments, and print a bar as a dash in its oldest
#: font encoding.
_PROTECTED = {
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
}
#: Pairs of equal characters that TeX would combine into a ligature; braces are put between the two.
_LIGATURE = re.compile(r"([-,'])(?=\1)")
#: A letter with a combining circumflex, which occurs in the papers' names of trees. pdflatex would
#: reject the combining character.
_HAT = re.compile("([A-Za-z])\u0302")
_LABEL = re.compile(r"[A-Za-z0-9:_.+/-]+")
_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029\ufeff]+")
#: LaTeX code for the columns and parameters that are not printed under their own names, mostly
#: symbols of the papers.
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
# Widths in points in LaTeX's document class ``article``. A column of a two-column page is 221 (A4)
# or 230 points wide, the text of a one-column page 345 points. A paragraph is indented by 15.
_COLUMN, _TEXT, _INDENTATION = 220.0, 345.0, 15.0
#: The width of an em and the space on each side of a table column, in points, for text of normal
#: and of small size.
_NORMAL, _SMALL = (10.0, 6.0), (8.5, 3.0)
_SMALL_STYLE = r"\footnotesize\setlength{\tabcolsep}{3pt}%"
#: The widths of TeX's letters in em, rounded up; bold letters are wider by the factor `_BOLD`.
_WIDTHS = dict.fromkeys("ijl.,:;'! ", 0.34) | dict.fromkeys("frst-()[]/", 0.46)
_WIDTHS |= dict.fromkeys("mw%&=<>", 0.84) | dict.fromkeys("MW", 1.04)
_BOLD = 1.18
_MACRO = re.compile(r"\\[A-Za-z]+(?:\{\})?")
_UNPRINTED = dict.fromkeys(map(ord, r"\{}$"))
_WORD_END = re.compile(r"(?<=-)|\s+")
#: Packages that a table may need. A table needs a package if it contains the package's command.
_PACKAGES = {"array": "\\arraybackslash", "booktabs": "\\toprule", "graphicx": "\\resizebox"}


def booktabs(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    caption: str | None = None,
    label: str | None = None,
    alignment: str | None = None,
    bold: Sequence[Collection[str]] = (),
    below: Sequence[str] = (),
    spare: Sequence[str] = (),
    *,
    wide: bool = False,
) -> str:
    r"""Return a table in LaTeX that fits into a page column.

    The first line names the packages that a document must load; booktabs is always one of them. A
    table that would be too wide gets a small font. If it is still too wide, the headings get
    several lines, columns in ``spare`` are omitted (a comment names them), and long texts are
    wrapped. As a last resort, the table is scaled.

    Headings consist of words and mathematics: ``time_ours`` becomes "time ours", and t_s becomes T
    with subscript s. In topology columns, a spec such as S5 becomes S with subscript 5. Integers of
    five or more digits get thin spaces between thousands. Other text is escaped, so that it is
    printed unchanged. Letters and symbols outside ASCII become LaTeX macros. Characters without a
    macro, such as Chinese characters, are kept for XeLaTeX and LuaLaTeX.

    Args:
        columns: the names of the columns.
        rows: for each row, one value per column: a string, a number, None for an empty cell, or any
            other value that `starcast.support.text.format_value` can write.
        caption: the text above the table. A table with a caption, a label or lines below, or a wide
            table, is a float (``table``); any other table is a bare ``tabular``.
        label: the name for ``\ref``: ASCII letters, digits and ``: _ . + / -``.
        alignment: a letter l, c or r per column; by default columns of numbers are aligned right
            and all others left.
        bold: for each row, the names of the columns whose cells are bold (default: none).
        below: lines below the table, such as footnotes.
        spare: the columns that may be omitted, in the order in which they are omitted.
        wide: use the entire width of the text, even on a two-column page; a float becomes
            ``table*``.

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
    letters = _alignment(columns, table, alignment)
    grid = []
    for place, name in enumerate(columns):
        cells = [_cell(name, row[place]) for row in table]
        marked = [name in names for names in bold] or [False] * len(table)
        marks = zip(cells, marked, strict=True)
        emphasized = [f"\\textbf{{{cell}}}" if cell and mark else cell for cell, mark in marks]
        grid.append(_Column(name, letters[place], _head(name), emphasized))
    is_float = caption is not None or label is not None or bool(below) or wide
    room = (_TEXT if wide else _COLUMN) - (0 if is_float else _INDENTATION)
    widths = [
        sum(column.natural * em + 2 * space for column in grid) for em, space in (_NORMAL, _SMALL)
    ]
    lines = _tabular(grid, letters, [column.head for column in grid])
    omitted: list[str] = []
    if widths[1] > room:
        kept = _remaining_columns(grid, room, spare)
        omitted = [column.name for column in grid if column not in kept]
        lines = [_SMALL_STYLE, *_narrowed_table(kept, room)]
    elif widths[0] > room:
        lines = [_SMALL_STYLE, *lines]
    if widths[0] > room and not is_float:
        lines = ["\\noindent{%", *lines[:-1], f"{lines[-1]}%", "}"]
    if is_float:
        lines = _float(lines, caption, label, below, "table*" if wide else "table")
    text = "\n".join(lines)
    if omitted:
        text += f"\n% not shown: {', '.join(map(escape, omitted))}"
    needed = ",".join(name for name, command in _PACKAGES.items() if command in text)
    return f"% \\usepackage{{{needed}}}\n{text}"


@dataclass(frozen=True)
class _Column:
    """A table column: LaTeX code of the heading and of the cells; widths are in em."""

    name: str
    letter: str
    head: str
    cells: Sequence[str]

    @property
    def natural(self) -> float:
        """The width of the column if no text is wrapped, in em."""
        return max(map(_width, (self.head, *self.cells)))

    @property
    def stacked(self) -> float:
        """The width of the column if each line of the heading has one word, in em."""
        return max(map(_width, (*self.head.split(), *self.cells)), default=0)

    @property
    def folded(self) -> float:
        """The smallest width, in em, at which no word is broken except at a hyphen.

        Only the cells of columns that are aligned left can be wrapped.
        """
        if self.letter != "l":
            return self.stacked
        words = (word for text in (self.head, *self.cells) for word in _WORD_END.split(text))
        return max(map(_width, words))


def _remaining_columns(grid: Sequence[_Column], room: float, spare: Sequence[str]) -> list[_Column]:
    """Omit ``spare`` columns, in their order, until the table fits; return the other columns.

    The table fits if it is at most ``room`` points wide. If no spare column is left, it may be
    wider.
    """
    em, space = _SMALL
    kept = list(grid)
    for name in spare:
        if sum(column.stacked * em + 2 * space for column in kept) <= room:
            break
        kept = [column for column in kept if column.name != name]
    return kept


def _narrowed_table(kept: Sequence[_Column], room: float) -> list[str]:
    """Return the LaTeX lines of a table that is at most ``room`` points wide in a small font."""
    em, space = _SMALL
    stacked = [column.stacked * em for column in kept]
    least = [column.folded * em for column in kept]
    inner = room - 2 * space * len(kept)
    is_scaled = sum(least) > inner
    widths = least if is_scaled else fold_widths(stacked, least, inner)
    letters, heads = [], []
    for column, full, given in zip(kept, stacked, widths, strict=True):
        is_folded = given < full
        fixed = f">{{\\raggedright\\arraybackslash}}p{{{given:.0f}pt}}"
        letters.append(fixed if is_folded else column.letter)
        heads.append(column.head if is_folded else _stack(column))
    *lines, end = _tabular(kept, letters, heads)
    if not is_scaled:
        return [*lines, end]
    return ["\\resizebox{\\linewidth}{!}{%", *lines, f"{end}%", "}"]


def _tabular(grid: Sequence[_Column], letters: Iterable[str], heads: Sequence[str]) -> list[str]:
    rows = zip(*(column.cells for column in grid), strict=True)
    begin = f"\\begin{{tabular}}{{{''.join(letters)}}}"
    body = ["\\toprule", _line(heads), "\\midrule", *map(_line, rows), "\\bottomrule"]
    return [begin, *body, "\\end{tabular}"]


def _stack(column: _Column) -> str:
    """Return a column's heading as LaTeX code with one word per line."""
    words = column.head.split()
    text = "\\\\".join(words)
    return text if len(words) < 2 else f"\\shortstack[{column.letter}]{{{text}}}"


def _width(latex: str) -> float:
    """Estimate the printed width of LaTeX code in em; the estimate is rarely too small."""
    text = latex.removeprefix("\\textbf").replace("\\ensuremath", "")
    printed = _MACRO.sub("m", text).translate(_UNPRINTED)
    width = sum(
        _WIDTHS.get(char, 0.57 if char.islower() or char.isdigit() else 0.85) for char in printed
    )
    return width * _BOLD if latex.startswith("\\textbf") else width


def table_label(*words: object) -> str:
    """Return a table label made of words, such as the names of compared experiments."""
    # Characters such as `%` and `#` have a special meaning in LaTeX labels.
    return "tab:" + re.sub(r"[^\w.+-]", "-", "-".join(map(str, words)), flags=re.ASCII)


def escape_latex(text: str) -> str:
    """Return LaTeX code that prints the given text unchanged, on one line."""
    # The no-break space is not escaped, because pylatexenc has a macro for it.
    cleaned = escape(_INVISIBLE.sub(" ", text), kept="\xa0")
    return str(_encoder().unicode_to_latex(cleaned))


def typeset(text: str) -> str:
    """Return text as LaTeX code; specs such as S5, t_s, t_c and powers become formulas."""
    parts = _MATHEMATICS.split(text)
    return "".join(
        _symbol(part) if turn % 2 else escape_latex(part) for turn, part in enumerate(parts)
    )


def _symbol(text: str) -> str:
    """Return the LaTeX formula for a spec such as S5, for t_s or t_c, or for a power."""
    if text in _SYMBOLS:
        return _SYMBOLS[text]
    if "^" in text:
        return f"${text}$"
    letter, index = text[0], text[1:]
    return f"${letter}_{{{index}}}$"


def _head(name: str) -> str:
    """Return the heading of the column with this name as LaTeX code."""
    if not _NAME.fullmatch(name):
        return escape_latex(name)
    known = next((each for each in _SYMBOLS if f"{name}_".startswith(f"{each}_")), "")
    rest = typeset(name[len(known) :].replace("_", " "))
    return f"{_SYMBOLS.get(known, '')}{rest}".strip()


def _cell(column: str, value: Any) -> str:
    """Return the value of a cell as LaTeX code."""
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
            UnicodeToLatexConversionRule(RULE_REGEX, [(_LIGATURE, r"\1{}"), (_HAT, r"\\^{\1}")]),
            "defaults",
        ],
        # Braces end a macro. Without them, TeX would swallow a space after the macro.
        replacement_latex_protection="braces-after-macro",
        unknown_char_policy="keep",
        unknown_char_warning=False,
    )


def _line(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def _float(
    lines: list[str],
    caption: str | None,
    label: str | None,
    below: Sequence[str],
    environment: str,
) -> list[str]:
    head = [f"\\begin{{{environment}}}", "\\centering"]
    if caption is not None:
        # Without \medskip, there would be no space between a caption and the table below it.
        head += [f"\\caption{{{typeset(caption)}}}", "\\medskip"]
    if label is not None:
        if not _LABEL.fullmatch(label):
            raise InputError(
                f"'{label}' is not a valid label for a LaTeX table",
                hint="use ASCII letters, digits and : _ . + / -",
            )
        head.append(f"\\label{{{label}}}")
    foot = [f"{typeset(line)}\\par" for line in below]
    if foot:
        foot.insert(0, "\\par\\smallskip\\footnotesize\\raggedright")
    return [*head, *lines, *foot, f"\\end{{{environment}}}"]


def _alignment(
    columns: Sequence[str], table: Sequence[Sequence[Any]], alignment: str | None
) -> str:
    if alignment is None:
        numeric = (is_numeric(row[index] for row in table) for index in range(len(columns)))
        return "".join("r" if is_right else "l" for is_right in numeric)
    if len(alignment) != len(columns) or not _ALIGNMENTS.issuperset(alignment):
        raise InputError(
            f"'{alignment}' is not a valid alignment for {pluralize(len(columns), 'column')}",
            hint="write one letter per column: l, c or r",
        )
    return alignment


def _check_widths(columns: Sequence[str], table: Sequence[Sequence[Any]]) -> None:
    for number, row in enumerate(table, start=1):
        if len(row) != len(columns):
            raise InputError(
                f"row {number} of the table has {pluralize(len(row), 'value')} for"
                f" {pluralize(len(columns), 'column')}",
                hint="use one value per column in each row; None leaves a cell empty",
            )
