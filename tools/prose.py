"""`make prose`: list the texts that contain an idiom of `IDIOMS`. The list is only a guide.

A text is a docstring, a group of comment lines, a string literal of three words or more, a block
of a Markdown page or a comment line of a Cypher file.

Usage: python tools/prose.py [PATH ...]     (default: FOLDERS of this repository)
"""

import ast
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (
    *("service", "papers", "tests"),
    *("benchmarks", "migrations", "docs", "queries", "examples", "tools"),
    *("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"),
)
# Some texts are not searched. The evidence of claims is compared byte for byte, so its wording is
# fixed. This script, the glossary and its decision record contain the idioms as examples.
FIXED_LITERALS = re.compile(r"\bpapers/|(tools/|test_)prose\.py$")
FIXED_PAGES = re.compile(r"docs/(claims|glossary|decisions/0011-prose-check)\.md$")

_NOUN = (
    "(?:bit|byte|column|character|edge|file|line|link|message|minute|module|node|packet|piece|port|"
    "query|question|row|run|second|segment|start-up|step|test|tree|unit|word)"
)
_VERB = "(?:can|gets|has|holds|is|may|must|needs|owns|receives|sends|takes|that|uses|will)"
IDIOMS = {
    "per": rf"\b(?:{_NOUN}s|once|(?:an?|one) {_NOUN}) an? (?:batch|size|{_NOUN})\b(?!-| {_VERB}\b)",
    "is no": r"(?<!there )(?<!it )\b(?:is|are|was|were) no (?!longer|more|less|fewer|such)\w+",
    "person": r"\b(?:some|no|every|any)body\b|\b(?:some|any|every)one\b|\bwhoever\b|\bno one\b",
    "word": r"\b(?:anew|afresh|mend(?:s|ed|ing)?|beside|told|said|owed|believed|heed(?:s|ed)?)\b",
    "break off": r"\b(?:broken|broke|breaks?|breaking) off\b",
    "look at": r"\b(?:looks?|looked|looking) at\b",
    "hang": r"\bh(?:angs?|anging|ung) (?:from|on|below)\b",
    "leave out": r"\b(?:leav(?:e|es|ing)|left)(?: \S+){0,4} out\b",
    "hand out": r"\bhand(?:s|ed|ing)? (?:\w+ )?out\b",
    "away": r"\b(?:is|are|was|were|be) away\b(?! from)",
    "stands": r"\bstands? (?:in|on|at|there|here|alone|next|above|below|with)\b",
    "should be": r"\bas (?:it|they) should be\b|\b(?:it is|is it) so\b|\bwhat (?:it|they) takes?\b",
    "of it": r"\bof it\b|\bthe lot\b|\bthe house\b",
    "whole": r"(?<!as a )\bwhole\b(?! numbers?\b)",
    "one": r"\bone's own\b|\bones\b|\b(?:another|the other|whose|real|own) one\b(?!-)",
    "the fewer": r"\bthe (?:fewer|more|less|better|larger|smaller) (?:are|is|the)\b",
    "clause": r"\A(?:What|Whose|Who|Whom|Where|How|Whether)\b(?!.*\?)",
}
PATTERNS = {name: re.compile(text, re.IGNORECASE | re.DOTALL) for name, text in IDIOMS.items()}
#: Pattern for the beginning of a string literal that contains code.
CODE = re.compile(r"\s*(?:[A-Z]{4,}\b|//|#!|<|\{|\[|[a-z_]+ =)")
WORD = re.compile(r"[A-Za-z]{2,}")


class Text(NamedTuple):
    """A text with its kind, and the number of the line in which it begins."""

    line: int
    kind: str
    words: str

    def idioms(self) -> list[str]:
        """Return the name and the first matching words of each idiom in the text, as strings."""
        matches = {name: pattern.search(self.words) for name, pattern in PATTERNS.items()}
        flag = self.kind != "docstring" and self.words.startswith("Whether")
        if flag or self.kind in {"string", "page", "header"}:
            matches["clause"] = None
        return [f"{name}: '{' '.join(m[0].split()[:5])}'" for name, m in matches.items() if m]


def comments(nodes: list[ast.AST], source: str) -> Iterator[Text]:
    """Yield each group of consecutive comment lines as one text."""
    #: The numbers of the lines that begin inside a string literal.
    inside = set[int]()
    for node in nodes:
        if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno:
            inside.update(range(node.lineno + 1, node.end_lineno + 1))
    first, group = 0, list[str]()
    for number, line in enumerate(source.splitlines(), start=1):
        comment = re.search(r"(?:^\s*|\S  )#(?!!|\s*(?:noqa|type:|pragma))[: ]*(.*)", line)
        if comment is None or number in inside:
            continue
        if number != first + len(group):
            if group:
                yield Text(first, "comment", " ".join(group))
            first, group = number, []
        group.append(comment[1])
    if group:
        yield Text(first, "comment", " ".join(group))


def python_texts(nodes: list[ast.AST], *, literals: bool) -> Iterator[Text]:
    """Yield the docstrings and, with `literals`, other string literals that look like prose."""
    #: The ids of docstrings and of parts of f-strings, which `ast.walk` visits a second time.
    seen = set[int]()
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if words := ast.get_docstring(node):
                text = node.body[0].value  # type: ignore[attr-defined]
                seen.add(id(text))
                decorators = " ".join(map(ast.unparse, getattr(node, "decorator_list", ())))
                kind = "property" if "property" in decorators else "docstring"
                yield Text(text.lineno, kind, words)
            continue
        words = ""
        if isinstance(node, ast.JoinedStr):
            seen.update(map(id, node.values))
            words = "".join(str(getattr(part, "value", "")) for part in node.values)
            words = re.sub(r"<ast\.[^>]*>", "x", words)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = "" if id(node) in seen else node.value
        if literals and len(WORD.findall(words)) >= 3 and not CODE.match(words):
            yield Text(node.lineno, "string", words)  # type: ignore[attr-defined]


def page_texts(source: str) -> Iterator[Text]:
    """Yield the paragraphs, list items and table rows of a Markdown page, without its code."""
    begin, fenced, block = 0, False, list[str]()
    for number, line in enumerate([*source.splitlines(), ""], start=1):
        if re.match(r"\s*$|\s*([-*|#>]|\d+\.)(\s|$)|\s*(```|~~~)|.*<svg", line) or fenced:
            if len(WORD.findall(" ".join(block))) >= 3:
                yield Text(begin, "page", re.sub(r"`[^`]*`", "`code`", " ".join(block)))
            block = []
        fence = re.match(r"\s*(```|~~~)", line) is not None
        fenced = fenced != fence
        if line.strip() and not fenced and not fence:
            begin = begin if block else number
            block.append(line.strip(" -*|#>"))


def header_texts(source: str) -> Iterator[Text]:
    """Yield each comment line of a Cypher file that has three words or more."""
    for number, line in enumerate(source.splitlines(), start=1):
        if line.startswith("//") and len(WORD.findall(line)) >= 3:
            yield Text(number, "header", re.sub(r"^//\s*", "", line))


def check(path: Path) -> tuple[int, list[str]]:
    """Return the number of texts in a file, and a line for each text that contains an idiom."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        nodes = list(ast.walk(ast.parse(source)))
        fixed = FIXED_LITERALS.search(path.as_posix()) is not None
        texts = [*python_texts(nodes, literals=not fixed), *comments(nodes, source)]
    else:
        texts = list(page_texts(source) if path.suffix == ".md" else header_texts(source))
    found = [(text, idioms) for text in texts if (idioms := text.idioms())]
    return len(texts), [f"{path}:{text.line}: {text.kind}: {'; '.join(x)}" for text, x in found]


def main(arguments: list[str]) -> None:
    """List the idioms in the files below the given paths."""
    paths = [Path(name) for name in arguments] or [ROOT / name for name in FOLDERS]
    files = sorted(file for path in paths for file in (path.rglob("*"), [path])[path.is_file()])
    files = [file for file in files if file.suffix in {".py", ".md", ".cypher"}]
    files = [file for file in files if not FIXED_PAGES.search(file.as_posix())]
    with ProcessPoolExecutor() as pool:
        results = list(pool.map(check, files, chunksize=16))
    idioms = [idiom for _, found in results for idiom in found]
    texts = sum(count for count, _ in results)
    print("\n".join(idioms))
    print(f"{100 * len(idioms) / max(1, texts):.1f} of 100 texts have an idiom")


if __name__ == "__main__":
    main(sys.argv[1:])
