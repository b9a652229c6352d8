"""How a statement of a paper is declared: what it says in our notation, where it is looked at, and what looks."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from starcast.claims.see import See
from starcast.claims.statements import PAPERS, statements
from starcast.support.text import as_sentence
from starcast.topologies import Topology, topology

Check = Callable[[See], None]
Level = Literal["quick", "full", "deep"]
LEVELS: tuple[Level, ...] = ("quick", "full", "deep")
#: Bytes a directed link: what a few arrays over all links take.
USUAL = 64


@dataclass(frozen=True)
class Sizes:
    """The topologies at which a statement is looked at, in the order in which a counterexample is the smallest.

    Attributes:
        quick, full, deep: their names; each level has those of the one before it.
        beyond: sizes outside of what the statement speaks of, such as ``S2``: looked at, named if they fail, never deciding.
    """

    quick: tuple[str, ...]
    full: tuple[str, ...]
    deep: tuple[str, ...]
    beyond: tuple[str, ...] = ()

    def at(self, level: Level) -> tuple[str, ...]:
        """The sizes of a level."""
        return {"quick": self.quick, "full": self.full, "deep": self.deep}[level]


def stars(
    quick: int = 6, full: int = 7, deep: int = 8, *, least: int = 3, beyond: bool = True
) -> Sizes:
    """S_n for n = least.. up to a number a level, and S_2 beyond."""
    up_to = {
        level: tuple(f"S{n}" for n in range(least, top + 1))
        for level, top in _tops(quick, full, deep)
    }
    return Sizes(**up_to, beyond=("S2",) if beyond else ())


def nk_stars(quick: int = 6, full: int = 7, deep: int = 8, *, beyond: bool = True) -> Sizes:
    """S_{n,k} for 1 <= k <= n-1 and n = 3.. up to a number a level, in the order of n, then k; and S_{2,1} beyond."""
    up_to = {
        level: tuple(f"S{n},{k}" for n in range(3, top + 1) for k in range(1, n))
        for level, top in _tops(quick, full, deep)
    }
    return Sizes(**up_to, beyond=("S2,1",) if beyond else ())


def cubes(quick: int = 8, full: int = 10, deep: int = 12, *, beyond: bool = True) -> Sizes:
    """Q_k for k = 2.. up to a number a level, and Q_1 beyond."""
    up_to = {
        level: tuple(f"Q{k}" for k in range(2, top + 1)) for level, top in _tops(quick, full, deep)
    }
    return Sizes(**up_to, beyond=("Q1",) if beyond else ())


def only(*specs: str) -> Sizes:
    """The sizes that a statement names."""
    return Sizes(specs, specs, specs)


def joined(several: Iterable[Sizes]) -> Sizes:
    """The sizes of several statements together."""
    given = list(several)

    def together(chosen: Callable[[Sizes], tuple[str, ...]]) -> tuple[str, ...]:
        return tuple(sorted({spec for sizes in given for spec in chosen(sizes)}, key=in_order))

    return Sizes(
        together(lambda sizes: sizes.quick),
        together(lambda sizes: sizes.full),
        together(lambda sizes: sizes.deep),
        together(lambda sizes: sizes.beyond),
    )


def in_order(spec: str) -> tuple[int, int, int]:
    """Sort sizes by n, then k, star graphs before others of the same n."""
    where = topology(spec)
    return where.n, int(where.k or 0), len(where.family)


def degenerate(spec: str) -> bool:
    """Whether a size is at the edge of what its family can be: n <= 3, k = 1 or k = n-1 of S_{n,k}, or Q_1, Q_2."""
    where = topology(spec)
    if where.family == "nk-star":
        return where.k in (1, where.n - 1)
    return where.n <= (3 if where.family == "star" else 2)


@dataclass(frozen=True)
class Claim:
    """A statement of a paper that can be looked at.

    Attributes:
        id: such as ``TS.L5``.
        number: what the paper calls it, such as ``Lemma 5``.
        notation: the statement in the words and symbols of docs/definitions/conventions.md.
        sizes: where it is looked at.
        check: says to a `See` what it finds at one size; None for the conjunction of the statements below it.
        reading: which reading of a damaged or ambiguous statement is looked at, and why; empty where there is but one.
        family: what it shares with others: statements of one family are looked at together, size by size.
        weight: bytes a node, for the estimate of what a size takes.
    """

    id: str
    number: str
    notation: str
    sizes: Sizes
    check: Check | None
    reading: str = ""
    family: str = ""
    weight: Callable[[Topology], int] = lambda where: USUAL * where.degree

    @property
    def paper(self) -> str:
        """Who said it."""
        return PAPERS[self.id.split(".", maxsplit=1)[0]]

    @property
    def words(self) -> str:
        """The statement, word for word as in the list of statements."""
        return statements()[self.id]

    def needs(self, spec: str) -> int:
        """The bytes that looking at a size takes, estimated."""
        where = topology(spec)
        return where.nodes * self.weight(where)


class Family:
    """Statements that look at the same things; one a module.

    ``claim = Family("tseng_sheu_trees").claim`` is a decorator that declares a check.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.claims: list[Claim] = []

    def claim(
        self,
        name: str,
        number: str,
        sizes: Sizes,
        notation: str,
        *,
        reading: str = "",
        weight: Callable[[Topology], int] | None = None,
    ) -> Callable[[Check], Check]:
        """Declare the check that it decorates; see `Claim`."""

        def declare(check: Check) -> Check:
            self.add(name, number, sizes, notation, check, reading=reading, weight=weight)
            return check

        return declare

    def add(
        self,
        name: str,
        number: str,
        sizes: Sizes,
        notation: str,
        check: Check,
        *,
        reading: str = "",
        weight: Callable[[Topology], int] | None = None,
    ) -> None:
        """Declare a check that is made by a function, for rows of tables that differ in a formula only."""
        made = {} if weight is None else {"weight": weight}
        self.claims.append(
            Claim(
                name,
                number,
                as_sentence(notation),
                sizes,
                check,
                as_sentence(reading),
                self.name,
                **made,
            )
        )


def _tops(quick: int, full: int, deep: int) -> Sequence[tuple[Level, int]]:
    return (("quick", quick), ("full", max(quick, full)), ("deep", max(quick, full, deep)))
