"""Papers and their claims, read from the ``claims.toml`` of each pack and joined with checks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from itertools import accumulate, chain
from pathlib import Path
from typing import NamedTuple

from starcast.catalogue import packs, plugins
from starcast.catalogue.packs import Pack
from starcast.claims.pack_file import ClaimEntry, PackFile, SizesEntry, read_pack_file
from starcast.claims.registry import LINK_ARRAYS, CheckFunction, Memory, registered_checks
from starcast.support.errors import InputError, StarcastError
from starcast.support.vocabulary import LEVELS, Level
from starcast.topologies import topology

#: For each topology family, the smallest n that claims usually cover, and the spec of a topology
#: below this n, on which claims are also verified by default (`Sizes.beyond`).
FAMILIES: Mapping[str, tuple[int, str]] = {
    "star": (3, "S2"),
    "nk-star": (3, "S2,1"),
    "hypercube": (2, "Q1"),
}


@dataclass(frozen=True)
class Paper:
    """A paper whose claims are verified.

    Attributes:
        key: prefix of the ids of the paper's claims, such as ``TS``.
        citation: author-year citation, such as ``Tseng & Sheu 1997``.
        authors: full names, in the order of the paper.
        title: title of the paper.
        year: year of publication.
        venue: journal, proceedings or institution.
        doi: Digital Object Identifier; empty if unknown.
        folder: folder name of the paper's pack.
        sha256: SHA-256 of the pack when the pack was loaded; empty for packs that come with
            starcast.
    """

    key: str
    citation: str
    authors: tuple[str, ...]
    title: str
    year: int
    venue: str
    doi: str = ""
    folder: str = ""
    sha256: str = ""


class Sizes(NamedTuple):
    """The topologies (called sizes) on which a claim is verified, for each level.

    Attributes:
        quick, full, deep: specs for each level; every level contains the level before it.
        beyond: specs outside the scope of the claim, such as ``S2``. The claim is verified on these
            specs, and failures are reported, but do not affect the verdict.
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
    """Return the sizes of a claim about a family: for each level, all topologies up to a given n.

    Args:
        family: ``star`` (S_n), ``nk-star`` (all S_{n,k} with 1 <= k <= n-1) or ``hypercube`` (Q_n).
        quick: largest n for the level ``quick``.
        full: largest n for the level ``full``; ``quick`` if that is larger.
        deep: largest n for the level ``deep``; the n for ``full`` if that is larger.
        least: smallest n (default: 3; 2 for hypercubes).
        beyond: sizes outside the scope of the claim. The default is S2, S2,1 or Q1, depending on
            the family, or no size if the claim covers this size because of ``least``.
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

    deepest = up_to(max(quick, full, deep))
    if beyond is None:
        beyond = () if below in deepest else (below,)
    return Sizes(up_to(quick), up_to(max(quick, full)), deepest, tuple(beyond))


def only(*specs: str) -> Sizes:
    """Return the given topologies as the sizes of every level, for a claim about only these."""
    return Sizes(specs, specs, specs)


def union(several: Iterable[Sizes]) -> Sizes:
    """Return the union of the sizes of several claims for each level, sorted by `size_order`."""
    merged = (
        sorted(dict.fromkeys(chain(*specs)), key=size_order) for specs in zip(*several, strict=True)
    )
    return Sizes(*map(tuple, merged))


def size_order(spec: str) -> tuple[int, int, int]:
    """Return the key by which the specs of topologies are sorted.

    Star graphs, (n,k)-stars and hypercubes are sorted by n. For the same n, star graphs come first,
    then hypercubes, then (n,k)-stars by k. Topologies of other families are sorted by the number of
    nodes, because their n may have any meaning.
    """
    size = topology(spec)
    if size.family not in FAMILIES:
        return size.nodes, 0, 0
    return size.n, int(size.k or 0), len(size.family)


def sort_sizes(specs: Iterable[str]) -> tuple[str, ...]:
    """Return the specs of topologies, sorted by `size_order`, without repetition.

    Specs with the same sort key keep their order.

    Raises:
        InputError: a spec does not name a topology.
    """
    return tuple(sorted(dict.fromkeys(topology(spec).spec for spec in specs), key=size_order))


def is_degenerate(spec: str) -> bool:
    """Return whether a topology is an extreme case.

    Extreme cases are S_n with n <= 3, S_{n,k} with k = 1 or k = n-1, and topologies of other
    families, such as Q_n, with n <= 2.
    """
    size = topology(spec)
    if size.family == "nk-star":
        return size.k in (1, size.n - 1)
    return size.n <= (3 if size.family == "star" else 2)


@dataclass(frozen=True)
class Claim:
    """A claim of a paper.

    Attributes:
        id: id of the claim, such as ``TS.L5``.
        number: number of the claim in the paper, such as ``Lemma 5``.
        statement: the claim in the words of the paper.
        notation: the claim in the notation of docs/definitions/conventions.md.
        sizes: the topologies on which the claim is verified.
        check: function that records evidence at one size; None for a conjunction, or if the check
            is not loaded yet.
        reading: for a damaged or ambiguous statement, the reading (interpretation) that is
            verified, and the reason for this choice; empty if there is only one reading.
        correction: a true statement that replaces a claim that fails; empty if there is none.
        parts: ids of the claims that form a conjunction; empty for any other claim.
        section: module of the claim's check, such as ``tseng_sheu.trees``. Claims of one section
            are verified together, so that they share topologies, forests and schedules.
        paper: the paper that makes the claim.
        record: the search problem whose records contain the best known values for the claim's
            subject; empty if there is none. The verdict does not depend on these records.
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
        """Return the estimated memory of the claim's check on a topology, in bytes."""
        return self.memory.required(topology(spec))


def _specs(family: str, n: int) -> tuple[str, ...]:
    if family == "nk-star":
        return tuple(f"S{n},{k}" for k in range(1, n))
    return (f"S{n}",) if family == "star" else (f"Q{n}",)


# The claims of all packs


@dataclass(frozen=True)
class _Library:
    """The papers of all packs by key, their claims by id, and errors of omitted packs by folder."""

    papers: dict[str, Paper]
    claims: dict[str, Claim]
    faults: dict[str, StarcastError]


def papers() -> dict[str, Paper]:
    """Return the papers by key: those of built-in packs first, then those of loaded packs.

    Raises:
        InputError: a pack that the user named is invalid; the message names the file and the line.
    """
    return _load(packs.loaded(), with_checks=False).papers


def claim_entries() -> dict[str, Claim]:
    """Return the claims of all packs by id, in the order of their ``claims.toml`` files.

    The attribute `check` is None for the claims of packs that come with starcast, so that the
    modules of their checks need not be imported.

    Raises:
        InputError: a pack that the user named is invalid; the message names the file and the line.
    """
    return _load(packs.loaded(), with_checks=False).claims


def claims() -> dict[str, Claim]:
    """Return every claim by id, in the order of the papers; only conjunctions have no check.

    Raises:
        InputError: a pack that the user named is invalid; the message names the file and the line.
    """
    return _load(packs.loaded(), with_checks=True).claims


def faults() -> dict[str, StarcastError]:
    """Return the error of each invalid installed pack, by the pack's folder or module.

    The claims of invalid packs are not loaded.
    """
    return {**packs.faults, **_load(packs.loaded(), with_checks=False).faults}


def load(pack: str | Path) -> dict[str, Claim]:
    """Load a paper pack of your own, or load it again after a change.

    Args:
        pack: the pack's folder, with ``claims.toml`` and the modules of its checks.

    Returns:
        The pack's claims by id. `starcast.check` verifies these claims like starcast's own claims.

    Raises:
        InputError: the pack is invalid; the message names the file and the line.

    Example:
        >>> list(load("examples/papers/mypaper"))
        ['MYPAPER.diameter', 'MYPAPER.children']
    """
    plugins.load([f"{Path(pack)}/"])
    folder = Path(pack).expanduser().resolve()
    key = read_pack_file(folder / packs.CLAIMS).key
    return {claim_id: claim for claim_id, claim in claims().items() if covers(key, claim_id)}


@lru_cache(maxsize=2)
def _load(loaded: tuple[Pack, ...], *, with_checks: bool) -> _Library:
    library = _Library({}, {}, {})
    for pack in (*packs.shipped(), *loaded):
        try:
            file = read_pack_file(pack.folder / packs.CLAIMS)
            if file.key in library.papers:
                other = library.papers[file.key].citation
                raise file.error(
                    f"another pack has the key {file.key} too: {other}",
                    "paper",
                    "key",
                    hint='write another key, such as key = "MINE"',
                )
            pack_fields = {"key": file.key, "folder": pack.folder.name, "sha256": pack.sha256}
            paper = Paper(**{**dict(file.paper), **pack_fields})
            entries = read_claims(file, paper)
            if with_checks or pack in loaded:
                entries = _join(pack, file, entries)
        except StarcastError as error:
            if pack.is_named:
                raise
            library.faults[str(pack.folder)] = error
        else:
            library.papers[paper.key] = paper
            library.claims.update(entries)
    return library


def read_claims(file: PackFile, paper: Paper) -> dict[str, Claim]:
    """Return the claims of a paper by id, without their checks.

    Raises:
        InputError: the id, the notation, the sizes or the parts of a claim are missing or invalid.
    """
    claims: dict[str, Claim] = {}
    for index, entry in enumerate(file.claims):
        if not entry.id.startswith(f"{file.key}."):
            message = f"the id of claim '{entry.id}' does not begin with '{file.key}.'"
            raise file.error(message, "claim", index, "id")
        if entry.id in claims:
            raise file.error(f"claim {entry.id} is declared twice", "claim", index, "id")
        fields = entry.model_dump(exclude={"sizes", "conjunction"})
        try:
            claims[entry.id] = Claim(**fields, sizes=_read_sizes(entry), paper=paper)
        except StarcastError as error:
            message = f"claim {entry.id}: {error.message}"
            raise file.error(message, "claim", index, "sizes", hint=error.hint) from None
    for index, entry in enumerate(file.claims):
        if entry.conjunction:
            # A conjunction within a conjunction is replaced by its parts.
            parts = [
                claims[each.id]
                for each in file.claims
                if each.id.startswith(f"{entry.id}.") and not each.conjunction
            ]
            if not parts:
                message = f"claim {entry.id} is a conjunction, but no id begins with '{entry.id}.'"
                hint = f"add the claims of which it consists, such as {entry.id}.1"
                raise file.error(message, "claim", index, hint=hint)
            claims[entry.id] = replace(
                claims[entry.id],
                parts=tuple(part.id for part in parts),
                sizes=union(part.sizes for part in parts),
                notation=f"All of {', '.join(part.id for part in parts)}.",
            )
    return claims


def _read_sizes(entry: ClaimEntry) -> Sizes:
    """Return the sizes (topologies) of a claim in ``claims.toml``; a conjunction has none.

    Raises:
        InputError: the notation or the sizes are missing, the sizes do not have one of the
            permitted forms, a size does not name a topology, a size is both within and beyond the
            scope of the claim, or the level quick has no sizes.
    """
    given = entry.sizes
    if entry.conjunction:
        return only()
    if given is None or not entry.notation:
        raise InputError(
            "the key 'notation' or the key 'sizes' is missing or empty", hint="write both keys"
        )
    keys = {*LEVELS, "beyond"} if given.only is None else {"only"}
    unused = given.model_fields_set - (SizesEntry.model_fields.keys() if given.family else keys)
    if unused or (given.family and given.only):
        raise InputError(
            "'sizes' has keys that are not a valid combination: "
            f"{', '.join(sorted(given.model_fields_set))}",
            hint="write 'only', or a list for each level, or 'family' with its keys",
        )
    levels = [given.quick, given.full, given.deep]
    if given.family is None:
        # Without a family, the list of each level adds specs to the list of the level before it.
        added = [each or () for each in levels] if given.only is None else [given.only, (), ()]
        if not added[0] or any(isinstance(each, int) for each in added):
            raise InputError(
                "without the key 'family', 'sizes' must contain lists of topologies: 'only', or"
                " 'quick' and optionally other levels",
                hint='write sizes = { only = ["S4", "S5"] }',
            )
        lists = accumulate(added, lambda before, more: (*before, *more))
        distinct = (tuple(dict.fromkeys(specs)) for specs in lists)
        sizes = Sizes(*distinct)._replace(beyond=given.beyond or ())
    else:
        if given.family not in FAMILIES or not all(isinstance(each, int) for each in levels):
            raise InputError(
                "'sizes' with the key 'family' must name one of the families"
                f" {', '.join(FAMILIES)}, and state the largest n for each level",
                hint='write sizes = { family = "star", quick = 5, full = 6, deep = 7 }, or list'
                " the topologies of each level without a family",
            )
        sizes = family_sizes(**given.model_dump(exclude={"only"}))
    for spec in (*sizes.beyond, *sizes.deep, *given.omit):
        topology(spec)
        # Sizes in `beyond` do not affect the verdict, so a size must not be there by mistake.
        if spec in sizes.beyond and spec in sizes.deep:
            raise InputError(
                f"the size {spec} is both within and beyond the scope of the claim",
                hint=f"remove {spec} from 'beyond', or from the other sizes",
            )
    if not sizes.quick:
        raise InputError(
            "the level quick has no sizes", hint="increase 'quick', or shorten the list 'omit'"
        )
    return sizes


def _join(pack: Pack, file: PackFile, entries: dict[str, Claim]) -> dict[str, Claim]:
    """Return the claims of a pack, joined with their checks.

    Raises:
        InputError: a claim other than a conjunction has no check, or a check belongs to a
            conjunction or to an unknown claim.
    """
    if not pack.sha256:
        packs.import_modules(pack.module)
    checks = registered_checks(pack.module)
    for claim_id in checks.keys() - {entry.id for entry in file.claims if not entry.conjunction}:
        raise InputError(
            f"{checks[claim_id].origin}: this check names the claim {claim_id}, which is a"
            f" conjunction or is not in {packs.CLAIMS}",
            hint=f"correct the id, or add the claim to {packs.CLAIMS}",
        )
    joined = dict(entries)
    for index, entry in enumerate(file.claims):
        if entry.id in checks:
            each = checks[entry.id]
            joined[entry.id] = replace(
                entries[entry.id], check=each.check, memory=each.memory, section=each.section
            )
        elif not entry.conjunction:
            hint = f'write a check with @checks("{entry.id}")'
            raise file.error(f"claim {entry.id} has no check", "claim", index, "id", hint=hint)
    return joined


def find_claim(claim_id: str) -> Claim:
    """Return the claim with the given id.

    Raises:
        InputError: the id is unknown; the hint suggests similar ids.
    """
    if claim_id in claims():
        return claims()[claim_id]
    by_lower_case = {known.lower(): known for known in claims()}
    matches = get_close_matches(claim_id.lower(), by_lower_case, n=4, cutoff=0.5)
    nearest = ", ".join(by_lower_case[match] for match in matches)
    hint = f"did you mean {nearest}?" if nearest else "see 'starcast claims list'"
    raise InputError(f"unknown claim '{claim_id}'", hint=hint)


def select_claims(names: Iterable[str]) -> tuple[Claim, ...]:
    """Return the claims with the given ids, or whose ids begin with the given prefixes.

    Args:
        names: ids, each of which selects a single claim, or prefixes of ids, such as ``TS`` or
            ``NK.Tab1``. Without names, all claims are selected.

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
    """Return whether a requested name selects the claim with the given id.

    An id selects only itself: ``TS.L5`` does not select ``TS.L5-path``. Any other name, such as
    ``TS`` or ``NK.Tab1``, selects the ids that begin with this name followed by a dot or hyphen.
    The id of a stored claim selects this claim even if no loaded pack contains the claim any more.
    """
    if claim_id == name:
        return True
    return name not in claim_entries() and claim_id.startswith((f"{name}.", f"{name}-"))
