"""Papers, claims and their sizes: the entries of the papers' data files, joined with checks."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.resources import files
from itertools import chain
from pkgutil import iter_modules
from typing import Any, NamedTuple

from starcast.claims.registry import LINK_ARRAYS, CheckFunction, Memory, registered_checks
from starcast.records import PROBLEM_NAMES
from starcast.support.errors import InputError, StarcastError
from starcast.support.text import as_sentence
from starcast.support.vocabulary import LEVELS, Level
from starcast.topologies import topology

#: Topology families that claims can be about, each with the smallest n that claims are about, and
#: the spec just below this n, on which claims are also tried (see `Sizes.beyond`).
FAMILIES: Mapping[str, tuple[int, str]] = {
    "star": (3, "S2"),
    "nk-star": (3, "S2,1"),
    "hypercube": (2, "Q1"),
}


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
        """Return the specs of the topologies that a level (quick, full or deep) covers."""
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
    memory: Memory = LINK_ARRAYS
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


# Entries of the papers' data files


#: Packages of `starcast.claims.papers`, in the order in which claims are listed.
PAPER_PACKAGES = (
    "tseng_sheu",
    "sheu_liaw_chen",
    "fragopoulou_akl",
    "edge_disjoint_trees",
    "nk_star",
)
_TEXTS = ("id", "number", "statement", "notation", "reading", "correction")
_KEYS = frozenset({*_TEXTS, "sizes", "conjunction", "record"})
_SIZE_KEYS = frozenset({"family", *LEVELS, "least", "beyond", "omit"})


@cache
def papers() -> dict[str, Paper]:
    """Return the papers by key, in listing order."""
    return {paper.key: paper for paper, _ in _files()}


@cache
def claim_entries() -> dict[str, Claim]:
    """Return the claims of all papers without their checks, by id, in the order of the files.

    Raises:
        StarcastError: an entry is malformed; the message names its id.
    """
    entries: dict[str, Claim] = {}
    for paper, tables in _files():
        for table in tables:
            entry = parse_entry(table, paper)
            if entry.id in entries:
                raise StarcastError(f"claim {entry.id} is declared twice")
            entries[entry.id] = entry
    return {
        entry.id: entry if entry.sizes.deep else _with_parts(entry, entries)
        for entry in entries.values()
    }


def parse_entry(table: Mapping[str, Any], paper: Paper) -> Claim:
    """Convert one ``[[claim]]`` table of a ``claims.toml``; a conjunction has no sizes yet.

    Raises:
        StarcastError: the id does not belong to the paper, a key is unknown or missing, the sizes
            are malformed, or ``record`` does not name a search problem.
    """
    claim_id = table.get("id", "")
    if not isinstance(claim_id, str) or not claim_id.startswith(f"{paper.key}."):
        raise StarcastError(f"the id of claim {claim_id!r} does not begin with '{paper.key}.'")
    unknown = sorted(table.keys() - _KEYS)
    if unknown:
        raise StarcastError(f"claim {claim_id} has unknown keys: {', '.join(unknown)}")
    is_conjunction = bool(table.get("conjunction", False))
    required = {"number", "statement"} | (set() if is_conjunction else {"notation", "sizes"})
    missing = sorted(required - table.keys())
    if missing:
        raise StarcastError(f"claim {claim_id} has no {', '.join(missing)}")
    record = table.get("record", "")
    if record and record not in PROBLEM_NAMES:
        raise StarcastError(
            f"claim {claim_id} points to the records of an unknown problem: {record}"
        )
    # Texts of several lines are joined to one line.
    texts: dict[str, Any] = {key: " ".join(table.get(key, "").split()) for key in _TEXTS}
    for sentence in ("notation", "reading"):
        texts[sentence] = as_sentence(texts[sentence])
    sizes = only() if is_conjunction else parse_sizes(claim_id, table["sizes"])
    return Claim(**texts, sizes=sizes, paper=paper, record=record)


def _with_parts(claim: Claim, entries: Mapping[str, Claim]) -> Claim:
    """Return a conjunction with its parts: all claims whose ids continue its id after a dot."""
    parts = [entry for entry in entries.values() if entry.id.startswith(f"{claim.id}.")]
    if not parts:
        raise StarcastError(
            f"claim {claim.id} is a conjunction, but no id of a claim begins with '{claim.id}.'"
        )
    ids = tuple(part.id for part in parts)
    sizes = union(part.sizes for part in parts)
    return replace(claim, parts=ids, sizes=sizes, notation=f"All of {', '.join(ids)}.")


def parse_sizes(claim_id: str, table: Mapping[str, Any]) -> Sizes:
    """Convert a claim's ``sizes``: either ``only``, or a family with the largest n for each level.

    Raises:
        StarcastError: the family is unknown, a level is missing, or a spec is not a topology.
    """
    if "only" in table:
        sizes = only(*table["only"])
    else:
        family = table.get("family")
        if family not in FAMILIES:
            known = ", ".join(FAMILIES)
            raise StarcastError(f"claim {claim_id} has unknown family {family!r}; known: {known}")
        if not set(LEVELS) <= table.keys() <= _SIZE_KEYS:
            raise StarcastError(f"claim {claim_id} has malformed sizes: {dict(table)}")
        sizes = family_sizes(**table)
    if not sizes.deep:
        raise StarcastError(f"claim {claim_id} has no sizes")
    for spec in (*sizes.beyond, *sizes.deep):
        try:
            topology(spec)
        except StarcastError as error:
            raise StarcastError(f"claim {claim_id} has a malformed size: {error}") from error
    return sizes


def _files() -> Iterator[tuple[Paper, list[dict[str, Any]]]]:
    for package in PAPER_PACKAGES:
        path = files("starcast.claims.papers").joinpath(package, "claims.toml")
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        fields = document["paper"]
        yield Paper(**{**fields, "authors": tuple(fields["authors"])}), document["claim"]


# Entries joined with their checks


@cache
def claims() -> dict[str, Claim]:
    """Return every claim by id, in the order of the papers.

    Raises:
        StarcastError: a claim has no check, a check has no claim, or an entry is malformed.
    """
    _import_checks()
    entries = claim_entries()
    checks = registered_checks()
    unclaimed = sorted(checks.keys() - entries.keys())
    if unclaimed:
        raise StarcastError(f"checks without a claim in claims.toml: {', '.join(unclaimed)}")
    for entry in entries.values():
        if entry.parts and entry.id in checks:
            raise StarcastError(
                f"claim {entry.id} is a conjunction of claims, so it must not have a check",
                hint="remove the check, or 'conjunction = true' in claims.toml",
            )
        if not entry.parts and entry.id not in checks:
            raise StarcastError(
                f"claim {entry.id} has no check", hint=f'write one with @checks("{entry.id}")'
            )
    return {
        claim_id: replace(entry, **vars(checks[claim_id])) if claim_id in checks else entry
        for claim_id, entry in entries.items()
    }


def find_claim(claim_id: str) -> Claim:
    """Return the claim with the given id.

    Raises:
        InputError: the id is unknown; the hint offers the nearest ids.
    """
    if claim_id in claims():
        return claims()[claim_id]
    by_lower_case = {known.lower(): known for known in claims()}
    matches = get_close_matches(claim_id.lower(), by_lower_case, n=4, cutoff=0.5)
    nearest = ", ".join(by_lower_case[match] for match in matches)
    hint = f"did you mean {nearest}?" if nearest else "'starcast claims list' lists all claims"
    raise InputError(f"unknown claim '{claim_id}'", hint=hint)


def select_claims(names: Iterable[str]) -> tuple[Claim, ...]:
    """Return claims by id, by paper (``TS``) or by the prefix of their ids (``NK.Tab1``).

    Args:
        names: ids, which select a single claim, or prefixes; see `covers`. Without names, all
            claims are selected.

    Raises:
        InputError: a name selects nothing.

    Example:
        >>> [claim.id for claim in select_claims(["TS.T1"])]
        ['TS.T1']
    """
    selected: set[str] = set()
    for name in names:
        selected |= {known for known in claims() if covers(name, known)} or {find_claim(name).id}
    return tuple(claim for known, claim in claims().items() if known in selected or not selected)


def covers(name: str, claim_id: str) -> bool:
    """Return whether a requested name selects a claim.

    An id selects only itself: ``TS.L5`` does not select ``TS.L5-path``. Any other name, such as
    ``TS`` or ``NK.Tab1``, selects the ids that continue it after a dot or hyphen. A stored claim
    may no longer exist; its own id still selects it.
    """
    if claim_id == name:
        return True
    return name not in claim_entries() and claim_id.startswith((f"{name}.", f"{name}-"))


@cache
def _import_checks() -> None:
    """Import every module of every paper: importing a module registers its checks."""
    for package_name in PAPER_PACKAGES:
        package = import_module(f"starcast.claims.papers.{package_name}")
        for module in iter_modules(package.__path__):
            import_module(f"{package.__name__}.{module.name}")
