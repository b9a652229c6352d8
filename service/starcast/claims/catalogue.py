"""All claims: entries of the papers' data files joined with their checks."""

from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from starcast.claims.claim_files import PAPER_PACKAGES, ClaimEntry, claim_entries, part_ids
from starcast.claims.model import Claim, union
from starcast.claims.registry import registered_checks
from starcast.support.errors import InputError, StarcastError


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
    single: dict[str, Claim] = {}
    for entry in entries.values():
        if entry.is_conjunction:
            if entry.id in checks:
                raise StarcastError(
                    f"claim {entry.id} is a conjunction of claims, so it must not have a check",
                    hint="remove the check, or 'conjunction = true' in claims.toml",
                )
            continue
        if entry.id not in checks:
            raise StarcastError(
                f"claim {entry.id} has no check", hint=f'write one with @checks("{entry.id}")'
            )
        single[entry.id] = _claim(entry)
    return {
        claim_id: single.get(claim_id) or _conjunction(entry, single)
        for claim_id, entry in entries.items()
    }


def find_claim(claim_id: str) -> Claim:
    """Return the claim with an id.

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
    """Return claims by id, by paper (``TS``) or by the beginning of ids (``NK.Tab1``).

    Args:
        names: an id selects that claim alone; see `covers`. Without names all claims are selected.

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
    ``TS`` or ``NK.Tab1``, selects the ids that continue it after a dot or hyphen. The id of a claim
    that no longer exists also selects itself.
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


def _claim(entry: ClaimEntry) -> Claim:
    registered = registered_checks()[entry.id]
    if entry.sizes is None:
        raise StarcastError(f"claim {entry.id} has no sizes")
    claim = Claim(
        entry.id,
        entry.number,
        entry.notation,
        entry.sizes,
        registered.function,
        entry.reading,
        registered.section,
        statement=entry.statement,
        paper=entry.paper,
        record=entry.record,
    )
    if registered.bytes_per_node is None:
        return claim
    return replace(claim, bytes_per_node=registered.bytes_per_node)


def _conjunction(entry: ClaimEntry, single: dict[str, Claim]) -> Claim:
    parts = part_ids(entry.id)
    return Claim(
        entry.id,
        entry.number,
        f"All of {', '.join(parts)}.",
        union(single[part].sizes for part in parts),
        None,
        statement=entry.statement,
        parts=parts,
        paper=entry.paper,
    )
