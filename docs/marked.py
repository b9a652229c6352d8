"""Generated tables in hand-written pages: the text between two marks is computed."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

BEGIN = "<!-- table {}: computed by docs/{}, written by 'make docs' -->"
END = "<!-- end of table -->"


def filled(page: Path, module: str, tables: Mapping[str, Callable[[], Iterable[str]]]) -> str:
    """Return a page with its tables filled in.

    Args:
        page: the Markdown file.
        module: the file that computes the tables, as their marks name it.
        tables: a function for each table that yields its lines, by name.

    Raises:
        ValueError: the page does not have each table once.
    """
    text = page.read_text(encoding="utf-8")
    for name, rows in tables.items():
        begin = BEGIN.format(name, module)
        if text.count(begin) != 1:
            raise ValueError(f"{page.name} does not have one table marked '{begin}'")
        before, _, rest = text.partition(begin)
        text = "\n".join([f"{before}{begin}", "", *rows(), "", END]) + rest.partition(END)[2]
    return text


def head(*names: str) -> Iterator[str]:
    """Yield the first two lines of a table."""
    yield row(*names)
    yield "|" + "---|" * len(names)


def row(*values: object) -> str:
    """Return a line of a table; numbers have blanks between thousands."""
    return "| " + " | ".join(_written(values)) + " |"


def _written(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        yield f"{value:,}".replace(",", " ") if isinstance(value, int) else str(value)
