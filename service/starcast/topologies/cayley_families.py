"""Families of Cayley graphs that are given by their generators alone.

Akers & Krishnamurthy (1989) and Lakshmivarahan, Jwo & Dhall (1993) survey those of permutations.
"""

from itertools import combinations

from starcast.topologies.families import family

Generators = list[list[int]]

_AK, _LJD = "Akers & Krishnamurthy 1989", "Lakshmivarahan, Jwo & Dhall 1993"


def _exchange(n: int, i: int, j: int) -> list[int]:
    """Return the exchange of the positions i and j."""
    positions = list(range(1, n + 1))
    positions[i - 1], positions[j - 1] = j, i
    return positions


@family("pancake", pattern=r"P(\d+)", source=_AK, noun="pancake graphs", sizes=range(2, 13))
def pancake(n: int) -> Generators:
    """Reverse the first 2, 3, .., n symbols."""
    return [[*range(k, 0, -1), *range(k + 1, n + 1)] for k in range(2, n + 1)]


@family(
    "burnt-pancake", pattern=r"BP(\d+)", source="Gates & Papadimitriou 1979",
    noun="burnt pancake graphs", group="signed permutations", sizes=range(2, 10),
)  # fmt: skip
def burnt_pancake(n: int) -> Generators:
    """Reverse the first 1, 2, .., n symbols, and change their signs."""
    return [[*range(-k, 0), *range(k + 1, n + 1)] for k in range(1, n + 1)]


@family("bubble-sort", pattern=r"B(\d+)", source=_AK, noun="bubble-sort graphs", sizes=range(2, 13))
def bubble_sort(n: int) -> Generators:
    """Exchange adjacent symbols."""
    return [_exchange(n, i, i + 1) for i in range(1, n)]


@family(
    "bubble-sort-star", pattern=r"BS(\d+)", source="Chou, Hsu & Sheu 1996",
    noun="bubble-sort star graphs", sizes=range(2, 13),
)  # fmt: skip
def bubble_sort_star(n: int) -> Generators:
    """Exchange the first symbol with any other, or adjacent symbols."""
    first = [_exchange(n, 1, i) for i in range(2, n + 1)]
    return first + [_exchange(n, i, i + 1) for i in range(2, n)]


@family(
    "modified-bubble-sort", pattern=r"MB(\d+)", source=_LJD,
    noun="modified bubble-sort graphs", sizes=range(3, 13),
)  # fmt: skip
def modified_bubble_sort(n: int) -> Generators:
    """Exchange adjacent symbols, or the first and the last."""
    return [*bubble_sort(n), _exchange(n, 1, n)]


@family(
    "complete-transposition", pattern=r"CT(\d+)", source=_LJD,
    noun="complete transposition graphs", sizes=range(2, 13),
)  # fmt: skip
def complete_transposition(n: int) -> Generators:
    """Exchange any two symbols."""
    return [_exchange(n, i, j) for i, j in combinations(range(1, n + 1), 2)]


@family(
    "alternating-group", pattern=r"AG(\d+)", source="Jwo, Lakshmivarahan & Dhall 1993",
    noun="alternating group graphs", group="even permutations", sizes=range(3, 13),
)  # fmt: skip
def alternating_group(n: int) -> Generators:
    """Rotate the symbols in the positions 1, 2 and i, either way."""
    generators = []
    for i in range(3, n + 1):
        for first, second, third in ((2, i, 1), (i, 1, 2)):
            generators.append([first, second, *range(3, i), third, *range(i + 1, n + 1)])
    return generators


@family(
    "torus", pattern=r"T(\d+)x(\d+)(?:x(\d+))?", source="Dally & Seitz 1986", noun="tori",
    spelling="T4x4 or T4x4x4 for a torus", group="residues",
)  # fmt: skip
def torus(*sides: int) -> Generators:
    """Move by one place on one of the sides, either way."""
    return [
        [step if other == place else 0 for other in range(len(sides))]
        for place, side in enumerate(sides)
        for step in sorted({1, side - 1})
    ]
