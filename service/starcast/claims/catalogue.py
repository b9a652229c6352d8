"""All statements, in the order of the papers, and how one is found."""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from starcast.claims import papers
from starcast.claims.declaration import Claim, Family, joined
from starcast.claims.statements import covers, parts, statements
from starcast.errors import InputError


@cache
def claims() -> dict[str, Claim]:
    """Every statement by its id."""
    declared = {claim.id: claim for family in families() for claim in family.claims}
    return {
        name: declared.get(name) or _conjunction(name, declared)
        for name in statements()
        if name in declared or parts(name)
    }


def families() -> tuple[Family, ...]:
    """The modules of `starcast.claims.papers`, each with its statements."""
    found = (
        import_module(f"{papers.__name__}.{module.name}")
        for module in iter_modules(papers.__path__)
    )
    return tuple(module.FAMILY for module in found if hasattr(module, "FAMILY"))


def claim(name: str) -> Claim:
    """The statement of that id.

    Raises:
        InputError: there is none; the nearest ids are offered.
    """
    if name in claims():
        return claims()[name]
    by_case = {known.lower(): known for known in claims()}
    near = [by_case[one] for one in get_close_matches(name.lower(), by_case, n=4, cutoff=0.5)]
    offered = f"did you mean {', '.join(near)}?" if near else "'starcast claims list' has them all"
    raise InputError(f"there is no statement '{name}'", hint=offered)


def chosen(names: Iterable[str]) -> tuple[Claim, ...]:
    """Statements by id, by paper (``TS``), or by the beginning of ids (``NK.Tab1``), in the order of the papers.

    What a name stands for, `covers` says: an id for itself alone. All, if none is given.

    Raises:
        InputError: a name is none of these.
    """
    wanted: set[str] = set()
    for name in names:
        wanted |= {known for known in claims() if covers(name, known)} or {claim(name).id}
    return tuple(one for known, one in claims().items() if known in wanted or not wanted)


def _conjunction(name: str, declared: dict[str, Claim]) -> Claim:
    below = [declared[part] for part in parts(name) if part in declared]
    named = (
        statements()[name].partition(":")[0].partition(",")[0]
    )  # as Theorem 1, or in words, and then its parts say where
    number = (
        named
        if named[0].isupper()
        else ", ".join(dict.fromkeys(part.number.partition(",")[0] for part in below))
    )
    notation = f"All of {', '.join(part.id for part in below)}."
    return Claim(name, number, notation, joined(part.sizes for part in below), None)
