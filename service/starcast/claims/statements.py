"""What the papers say: the statements of ``statements.md``, one id a row, word for word."""

import re
from functools import cache
from importlib.resources import files

_ROW = re.compile(r"^\| ([A-Z]+\.\S+) \| (.*) \|$", re.MULTILINE)
#: How a statement ends that is the conjunction of the ids below its own.
CONJUNCTION = "all its parts"
PAPERS = {
    "TS": "Tseng & Sheu 1997",
    "SLC": "Sheu, Liaw & Chen 1993",
    "FA": "Fragopoulou & Akl 1993",
    "EDT": "Fragopoulou & Akl, edge-disjoint spanning trees",
    "NK": "Li, Chen, Xiang & Yao",
}


@cache
def statements() -> dict[str, str]:
    """The statement of every id, in the order of the papers."""
    text = files("starcast.claims").joinpath("statements.md").read_text(encoding="utf-8")
    return {name: words.replace("\\|", "|") for name, words in _ROW.findall(text)}


def parts(name: str) -> tuple[str, ...]:
    """The ids that a statement is the conjunction of; none if it says something itself."""
    if not statements()[name].endswith(CONJUNCTION):
        return ()
    return tuple(other for other in statements() if other.startswith(f"{name}."))


def covers(name: str, claim: str) -> bool:
    """Whether a name that was asked for covers a statement: an id itself alone, the beginning of ids those that go on from it.

    ``TS.L5`` is an id, and does not cover ``TS.L5-path``; ``TS`` and ``NK.Tab1`` are beginnings. So is what is an id no more,
    which covers itself as well.
    """
    return claim == name or (
        name not in statements() and claim.startswith((f"{name}.", f"{name}-"))
    )
