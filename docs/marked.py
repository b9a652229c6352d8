"""Pages written by hand but for their tables: what stands between two marks is computed anew."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

BEGIN = "<!-- table {}: computed by docs/{}, written by 'make docs' -->"
END = "<!-- end of table -->"


def filled(page: Path, module: str, tables: Mapping[str, Callable[[], Iterable[str]]]) -> str:
    """A page with its tables as they are.

    Args:
        page: the Markdown file.
        module: the file that computes the tables, as their marks name it.
        tables: the lines of each, by name.

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
    """A table's first lines."""
    yield row(*names)
    yield "|" + "---|" * len(names)


def row(*values: object) -> str:
    """A table's line; large numbers with blanks between thousands."""
    return "| " + " | ".join(_written(values)) + " |"


def _written(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        yield f"{value:,}".replace(",", " ") if isinstance(value, int) else str(value)
