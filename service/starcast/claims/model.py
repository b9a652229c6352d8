"""Papers, claims, and the sizes at which claims are verified."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from starcast.claims.check import ClaimCheck
from starcast.support.vocabulary import Level
from starcast.topologies import Topology, topology

CheckFunction = Callable[[ClaimCheck], None]
#: Topology families that claims can be about, each with the smallest n that claims are about, and
#: the spec just below this n, on which claims are also tried (see `Sizes.beyond`).
FAMILIES: Mapping[str, tuple[int, str]] = {
    "star": (3, "S2"),
    "nk-star": (3, "S2,1"),
    "hypercube": (2, "Q1"),
}


@dataclass(frozen=True)
class Memory:
    """The memory that a check needs, estimated by one rule: ``bytes * degree**power`` per node.

    Attributes:
        bytes: bytes per directed link (for power 1); the default allows for a few arrays over all
            links. A row of a schedule takes `starcast.collectives.model.BYTES_PER_ROW` bytes.
        power: exponent of the degree: 1 for data per link, 2 if every link has as many schedule
            rows as there are ports, 0 if the degree does not matter.
        of_pairs: returns whether, on a topology, the memory is needed for every pair of nodes, as
            for a schedule of all sources.
    """

    bytes: int = 64
    power: int = 1
    of_pairs: Callable[[Topology], bool] = lambda _: False

    def required(self, size: Topology) -> int:
        """Return the estimate for a topology, in bytes."""
        nodes = size.nodes**2 if self.of_pairs(size) else size.nodes
        return int(nodes * self.bytes * size.degree**self.power)


def all_pairs(_: Topology) -> bool:
    """Return True: the `of_pairs` of a check that always stores data for every pair of nodes."""
    return True


def unless_symmetric(size: Topology) -> bool:
    """Return True if translating one source's schedule does not give the others' schedules."""
    return not size.translation_keeps_ports


@dataclass(frozen=True)
class Paper:
    """A paper whose claims are verified.

    Attributes:
        key: prefix of the ids of its claims, such as ``TS``.
        citation: author-year citation, such as ``Tseng & Sheu 1997``.
        authors: full names, in the order of the paper.
        title: its title.
        year: year of publication.
        venue: journal, proceedings or institution.
        doi: Digital Object Identifier; empty if unknown.
    """

    key: str
    citation: str
    authors: tuple[str, ...]
    title: str
    year: int
    venue: str
    doi: str = ""


class Sizes(NamedTuple):
    """The topologies on which a claim is verified.

    They are in size order, so that the first counterexample is a small one.

    Attributes:
        quick, full, deep: specs for each level; every level contains the level before it.
        beyond: specs outside the scope of the claim, such as ``S2``. They are verified and failures
            are reported, but they do not affect the verdict.
    """

    quick: tuple[str, ...]
    full: tuple[str, ...]
    deep: tuple[str, ...]
    beyond: tuple[str, ...] = ()

    def at(self, level: Level) -> tuple[str, ...]:
        """Return the specs of a level."""
        return getattr(self, level)  # type: ignore[no-any-return]


def family_sizes(
    family: str,
    quick: int,
    full: int,
    deep: int,
    *,
    least: int | None = None,
    beyond: Iterable[str] | None = None,
    omit: Iterable[str] = (),
) -> Sizes:
    """Return all sizes of a family up to a largest n for each level.

    Args:
        family: ``star`` (S_n), ``nk-star`` (all S_{n,k} with 1 <= k <= n-1) or ``hypercube`` (Q_n).
        quick: largest n for the level ``quick``.
        full: largest n for ``full``, at least that for ``quick``.
        deep: largest n for ``deep``, at least that for ``full``.
        least: smallest n (default: 3; 2 for hypercubes).
        beyond: sizes outside the scope of the claim (default: S2; S2,1; Q1).
        omit: sizes to omit, such as ``S7,5``.

    Example:
        >>> family_sizes("star", 4, 5, 5).full
        ('S3', 'S4', 'S5')
    """
    default_least, below = FAMILIES[family]
    start = default_least if least is None else least
    omitted = frozenset(omit)

    def up_to(greatest: int) -> tuple[str, ...]:
        specs = (spec for n in range(start, greatest + 1) for spec in _specs(family, n))
        return tuple(spec for spec in specs if spec not in omitted)

    return Sizes(
        up_to(quick),
        up_to(max(quick, full)),
        up_to(max(quick, full, deep)),
        (below,) if beyond is None else tuple(beyond),
    )


def only(*specs: str) -> Sizes:
    """Return the given sizes for every level, for a claim about particular sizes."""
    return Sizes(specs, specs, specs)


def union(several: Iterable[Sizes]) -> Sizes:
    """Return the union of the sizes of several claims, in size order."""
    merged = (sorted({*chain(*specs)}, key=size_order) for specs in zip(*several, strict=True))
    return Sizes(*map(tuple, merged))


def size_order(spec: str) -> tuple[int, int, int]:
    """Return a sort key for specs: n, then k; star graphs before other families of equal n."""
    size = topology(spec)
    return size.n, int(size.k or 0), len(size.family)


def sort_sizes(specs: Iterable[str]) -> tuple[str, ...]:
    """Return the specs of topologies, each once and in size order.

    Raises:
        InputError: a spec is not a topology.
    """
    return tuple(sorted({topology(spec).spec for spec in specs}, key=size_order))


def is_degenerate(spec: str) -> bool:
    """Return whether a size is an extreme case: n <= 3, k = 1, k = n-1, Q_1 or Q_2."""
    size = topology(spec)
    if size.family == "nk-star":
        return size.k in (1, size.n - 1)
    return size.n <= (3 if size.family == "star" else 2)


@dataclass(frozen=True)
class Claim:
    """A claim of a paper.

    Attributes:
        id: such as ``TS.L5``.
        number: its number in the paper, such as ``Lemma 5``.
        statement: the words of the paper.
        notation: the claim in the notation of docs/definitions/conventions.md.
        sizes: the topologies on which it is verified.
        check: function that records evidence at one size; None for a conjunction, and for a claim
            that is not joined with its check yet.
        reading: which reading of a damaged or ambiguous statement is verified, and why; empty if
            there is only one reading.
        correction: a true statement that replaces a claim that fails; empty if there is none.
        parts: ids of the claims that a conjunction consists of.
        section: module of its check, such as ``tseng_sheu.trees``. Claims of one section are
            verified together, so that they share topologies, forests and schedules.
        paper: the paper that makes the claim.
        record: the search problem whose stored records hold the best known values for the subject
            of the claim; may be empty. The verdict does not depend on them.
        memory: estimate of the memory that the check needs.
    """

    id: str
    number: str
    notation: str
    sizes: Sizes
    check: CheckFunction | None = None
    reading: str = ""
    section: str = ""
    memory: Memory = Memory()
    statement: str = ""
    parts: tuple[str, ...] = ()
    paper: Paper | None = None
    record: str = ""
    correction: str = ""

    @property
    def citation(self) -> str:
        """The paper's author-year citation."""
        return "" if self.paper is None else self.paper.citation

    def required_bytes(self, spec: str) -> int:
        """Return the estimated memory of the check on a topology, in bytes."""
        return self.memory.required(topology(spec))


def _specs(family: str, n: int) -> tuple[str, ...]:
    if family == "nk-star":
        return tuple(f"S{n},{k}" for k in range(1, n))
    return (f"S{n}",) if family == "star" else (f"Q{n}",)
