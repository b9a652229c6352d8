"""What the sides of a comparison are called: in full, by letters, or without what all of them share."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from string import ascii_uppercase

from starcast.comparison.matching import Side
from starcast.errors import NotFoundError

#: Between an experiment and the part of it that a side is: no experiment has it in its name.
PART = "/"
#: Between the values that the sides have, where they differ.
EACH = " | "


def letter(place: int) -> str:
    """A, B, ..., Z, AA, AB, ...: as spreadsheets count."""
    before, last = divmod(place, len(ascii_uppercase))
    return (letter(before - 1) if before else "") + ascii_uppercase[last]


def lettered(sides: Sequence[Side]) -> tuple[Side, ...]:
    """The sides called A, B, ..."""
    return tuple(replace(side, name=letter(place)) for place, side in enumerate(sides))


def parent(sides: Sequence[Side]) -> str | None:
    """The experiment of which all sides are parts; None where there is no such."""
    parents = {side.name.partition(PART)[0] if PART in side.name else None for side in sides}
    return parents.pop() if len(parents) == 1 else None


def brief(sides: Sequence[Side]) -> tuple[Side, ...]:
    """The sides without the experiment of which all of them are parts."""
    if parent(sides) is None:
        return tuple(sides)
    return tuple(replace(side, name=side.name.partition(PART)[2]) for side in sides)


def telling(sides: Sequence[Side], value: str) -> bool:
    """Whether the sides' names say already what each of them has of a value such as ``S5 | Q7``."""
    each = value.split(EACH)
    named = zip((side.name.partition(PART)[2].split() for side in sides), each, strict=False)
    return len(each) == len(sides) and all(word in words for words, word in named)


def distinct(sides: Iterable[Side]) -> tuple[Side, ...]:
    """The sides under different names: an experiment may be compared with itself."""
    seen: dict[str, int] = {}
    renamed = []
    for side in sides:
        seen[side.name] = seen.get(side.name, 0) + 1
        name = side.name if seen[side.name] == 1 else f"{side.name} ({seen[side.name]})"
        renamed.append(replace(side, name=name))
    return tuple(renamed)


def place(sides: Sequence[Side], name: str) -> int:
    """Where the side of that name stands; a run goes by its number too, and a part by what is left of its name in a table.

    Raises:
        NotFoundError: there is none.
    """
    names = [side.name for side in sides]
    known = {
        **dict(zip((side.name for side in brief(sides)), names, strict=True)),
        **{each: each for each in names},
    }
    known |= {each.removeprefix("run "): each for each in names if each.startswith("run ")}
    if name not in known:
        raise NotFoundError(
            f"the baseline '{name}' is not compared", hint=f"take one of {', '.join(names)}"
        )
    return names.index(known[name])
