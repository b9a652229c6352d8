"""Replace the computed tables in pages that are otherwise written by hand.

HTML comments mark the beginning and the end of each table.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

BEGIN = "<!-- table {}: computed by docs/{}, written by 'make docs' -->"
END = "<!-- end of table -->"


def fill_tables(page: Path, module: str, tables: Mapping[str, Callable[[], Iterable[str]]]) -> str:
    """Return the text of a page after replacing its tables by newly computed tables.

    Args:
        page: the Markdown file.
        module: the name of the Python file that computes the tables; the marks contain this name.
        tables: functions that return the lines of each table, by the table's name.

    Raises:
        ValueError: the mark at the beginning of a table is missing or repeated.
    """
    text = page.read_text(encoding="utf-8")
    for name, rows in tables.items():
        begin = BEGIN.format(name, module)
        if text.count(begin) != 1:
            raise ValueError(f"{page.name} does not contain the mark '{begin}' exactly once")
        before, _, rest = text.partition(begin)
        text = "\n".join([f"{before}{begin}", "", *rows(), "", END]) + rest.partition(END)[2]
    return text


def head(*names: str) -> Iterator[str]:
    """Yield the two header lines of a Markdown table."""
    yield row(*names)
    yield "|" + "---|" * len(names)


def row(*values: object) -> str:
    """Return a row of a Markdown table, in which spaces separate the thousands of integers."""
    return "| " + " | ".join(_format(values)) + " |"


def _format(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        yield f"{value:,}".replace(",", " ") if isinstance(value, int) else str(value)
