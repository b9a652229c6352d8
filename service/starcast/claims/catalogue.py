"""Catalogue of all claims: entries of the papers' data files, joined with their checks."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.resources import files
from pkgutil import iter_modules
from typing import Any

from starcast.claims.model import FAMILIES, Claim, Paper, Sizes, family_sizes, only, union
from starcast.claims.registry import registered_checks
from starcast.records import PROBLEM_NAMES
from starcast.support.errors import InputError, StarcastError
from starcast.support.text import as_sentence
from starcast.support.vocabulary import LEVELS
from starcast.topologies import topology

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
