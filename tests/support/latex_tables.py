"""A strict reader for the LaTeX tables that starcast writes, independent of the writer.

It accepts only the commands that such tables contain. Characters that TeX would interpret,
ligatures, unbalanced braces and rows of different lengths are errors.
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

#: `make` unpacks LaTeX here if it is not installed.
FOLDER = Path(sys.prefix) / ".latex"
_COMPILE = Path(__file__).parent / "pdflatex"

_TABLE = re.compile(
    r"% \\usepackage\{(?P<packages>(?:array,)?booktabs(?:,graphicx)?)\}\n"
    r"(?P<float>\\begin\{table(?P<star>\*?)\}\n\\centering\n"
    r"(?:\\caption\{(?P<caption>.*)\}\n\\medskip\n)?(?:\\label\{(?P<label>[\w:.+/-]+)\}\n)?)?"
    r"(?P<group>\\noindent\{%\n)?(?P<small>\\footnotesize\\setlength\{\\tabcolsep\}\{3pt\}%\n)?"
    r"(?P<scaled>\\resizebox\{\\linewidth\}\{!\}\{%\n)?"
    r"\\begin\{tabular\}\{(?P<alignment>(?:[lcr]|>\{\\raggedright\\arraybackslash\}p\{\d+pt\})+)\}\n"
    r"\\toprule\n(?P<head>.*) \\\\\n\\midrule\n(?P<body>(?:.* \\\\\n)*)"
    r"\\bottomrule\n\\end\{tabular\}(?(scaled)%\n\})(?(group)%\n\})"
    r"(?:\n\\par\\smallskip\\footnotesize\\raggedright(?P<below>(?:\n.*\\par)+))?"
    r"(?(float)\n\\end\{table(?P=star)\})(?:\n% .*)*\n?"
)
_FOLDED = re.compile(r">\{.*?\}p\{\d+pt\}")
_STACK = re.compile(r"\\shortstack\[[lcr]\]\{(.*)\}")
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[^\\]", re.DOTALL)
_BOLD = re.compile(r"\\textbf\{(.*)\}")
_MATHEMATICS = re.compile(r"(?<!\\)\$(-|\w+?(?:_\w|_\{[\w,]+\}|\^\d)?)\$")
_LIGATURES = ("--", "''", ",,", "``", "?`", "!`", "<<", ">>")
_MACROS = {
    r"\textasciitilde": "~",
    r"\textasciicircum": "^",
    r"\textbackslash": "\\",
    r"\textbar": "|",
    r"\textasciigrave": "`",
    r"\textendash": "\N{EN DASH}",
    r"\texttimes": "\N{MULTIPLICATION SIGN}",
    r"\textrightarrow": "→",
    r"\leq": "≤",
    r"\alpha": "α",
    r"\lambda": "λ",
    r"\rho": "ρ",
    r"\ss": "ß",
    r"\ensuremath": "",
}
_ACCENTS = {r"\"o": "ö", r"\'e": "é"}
_HAT = re.compile(r"\\\^\{([A-Za-z])\}")


@dataclass(frozen=True)
class LatexTable:
    """The printed content of a table; ``bold`` lists, for each row, the columns in bold type.

    The alignment of a column that wraps is ``p``. A wide table spans the text width.
    """

    columns: list[str]
    rows: list[list[str]]
    bold: list[set[str]]
    alignment: str
    caption: str | None
    label: str | None
    below: list[str]
    is_wide: bool
    is_small: bool
    is_scaled: bool


def read_table(latex: str) -> LatexTable:
    """Parse a LaTeX text that consists of exactly one table.

    Raises:
        ValueError: the text is not such a table.
    """
    match = _TABLE.fullmatch(latex)
    if not match or (match["below"] and not match["float"]):
        raise ValueError(f"not a booktabs table: {latex!r}")
    alignment = _FOLDED.sub("p", match["alignment"])
    used = {"array": "p" in alignment, "booktabs": True, "graphicx": bool(match["scaled"])}
    if match["packages"].split(",") != [name for name, is_used in used.items() if is_used]:
        raise ValueError(f"packages {match['packages']}, but {used}")
    columns = [
        read_text(_STACK.sub(lambda stack: stack[1].replace(r"\\", " "), cell))
        for cell in _split(match["head"])
    ]
    rows = []
    bold = []
    for line in match["body"].splitlines():
        cells = _split(line.removesuffix(r" \\"))
        if len(cells) != len(columns):
            raise ValueError(f"{len(cells)} cells for {len(columns)} columns: {line!r}")
        marks = [_BOLD.fullmatch(cell) for cell in cells]
        bold.append({name for name, mark in zip(columns, marks, strict=True) if mark})
        rows.append(
            [read_text(mark[1] if mark else cell) for cell, mark in zip(cells, marks, strict=True)]
        )
    if len(alignment) != len(columns):
        raise ValueError(f"{alignment} for {len(columns)} columns")
    caption = None if match["caption"] is None else read_text(match["caption"])
    below = [
        read_text(line.removesuffix(r"\par")) for line in (match["below"] or "").split("\n")[1:]
    ]
    return LatexTable(
        columns, rows, bold, alignment, caption, match["label"], below,
        match["star"] == "*", bool(match["small"]), bool(match["scaled"]),
    )  # fmt: skip


def read_text(latex: str) -> str:
    """Return the characters that TeX prints for a LaTeX text without environments.

    Raises:
        ValueError: a character is not text, or a command is unknown.
    """
    latex = _MATHEMATICS.sub(lambda match: _mathematics(match[1]), latex).replace(r"\,", "")
    for ligature in _LIGATURES:
        if ligature in latex:
            raise ValueError(f"{ligature} is a ligature in {latex!r}")
    if re.search(r"(?<![{\\])[\[\]*|]", latex):
        raise ValueError(f"a bracket, star or bar without braces: {latex!r}")
    latex = _HAT.sub("\\1\u0302", latex)
    for written, letter in _ACCENTS.items():
        latex = latex.replace(written, letter)
    printed = []
    depth = 0
    macro = False
    for token in _TOKEN.findall(latex):
        if macro and token != "{":
            raise ValueError(f"a command is not ended by braces: {latex!r}")
        macro = False
        if token in {"{", "}"}:
            depth += 1 if token == "{" else -1
        elif token in _MACROS:
            printed.append(_MACROS[token])
            macro = not re.search(re.escape(token) + r"\}", latex)
        elif re.fullmatch(r"\\[&%$#_{}]", token):
            printed.append(token[1])
        elif token.startswith("\\") or token in "&%$#_^~\n\t`":
            raise ValueError(f"{token!r} is not text in {latex!r}")
        else:
            printed.append(token)
        if depth < 0:
            raise ValueError(f"unbalanced braces: {latex!r}")
    if depth:
        raise ValueError(f"unbalanced braces: {latex!r}")
    return "".join(printed)


def _mathematics(formula: str) -> str:
    r"""Return a formula symbol as escaped text: ``S_{6,3}`` is S6,3, ``T_s`` is ``T\_s``."""
    formula = formula.replace("^", r"{\textasciicircum}")
    letter, _, index = formula.partition("_")
    return letter + (index.strip("{}") if "{" in index else rf"\_{index}" if index else "")


def _split(line: str) -> list[str]:
    return [cell.strip(" ") for cell in re.split(r"(?<!\\)&", line)]


def compile_latex(text: str, folder: Path, options: str = "twocolumn") -> str:
    """Compile a document of the class article, and return the messages of LaTeX.

    The test is skipped if LaTeX is not available. It fails if a font lacks a character.
    """
    head = f"\\documentclass[{options}]{{article}}\\usepackage{{array,booktabs,graphicx,lmodern}}"
    (folder / "page.tex").write_text(f"{head}\\begin{{document}}\n{text}\n\\end{{document}}\n")
    command = [str(_COMPILE), str(FOLDER), "page.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode == 127:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout
    assert "Missing character" not in done.stdout
    assert (folder / "page.pdf").stat().st_size > 1000
    return done.stdout
