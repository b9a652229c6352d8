"""Verification of claims one after the other, in this process."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from starcast.claims import catalogue
from starcast.claims.check import ClaimCheck
from starcast.claims.evidence import Evidence
from starcast.claims.model import Claim, size_order, sort_sizes
from starcast.claims.object_cache import ObjectCache
from starcast.claims.verdict import Verdict, claim_verdict, conjunction_verdict
from starcast.support.errors import InputError, StarcastError
from starcast.support.vocabulary import LEVELS, Level
from starcast.topologies import memory, topology


def check(claim_id: str, level: Level = "quick", sizes: Sequence[str] | None = None) -> Verdict:
    """Verify one claim of a paper.

    Args:
        claim_id: such as ``TS.L5``.
        level: sizes to verify: ``quick`` (seconds), ``full`` or ``deep``.
        sizes: specs to verify instead of a level, such as ``["S4", "S5"]``.

    Returns:
        The verdict, with the smallest counterexample of a claim that fails.

    Raises:
        InputError: the claim or the level is unknown, or the claim is not about a size.
        LimitError: a size does not fit into memory.

    Example:
        >>> check("TS.L6", sizes=["S4"]).verdict
        'holds as a bound'
    """
    claim = catalogue.find_claim(claim_id)
    single = [catalogue.find_claim(part) for part in claim.parts] if claim.parts else [claim]
    evidence = [found for part in single for found in collect_evidence(part, level, sizes)]
    return verdicts([claim], evidence)[claim_id]


def collect_evidence(
    claim: Claim, level: Level, sizes: Sequence[str] | None = None
) -> list[Evidence]:
    """Return the evidence of a claim at all requested sizes."""
    objects = ObjectCache()
    return [run_check(claim, spec, objects) for spec in requested_sizes(claim, level, sizes)]


def run_check(
    claim: Claim, spec: str, objects: ObjectCache, recorder: type[ClaimCheck] = ClaimCheck
) -> Evidence:
    """Return the evidence of a claim at one size.

    Args:
        claim: a claim with a check.
        spec: the topology.
        objects: cache for the objects that the check uses.
        recorder: class of the recorder handed to the check.

    Raises:
        InputError: the claim is a conjunction.
        LimitError: the size does not fit into memory.
    """
    if claim.check is None:
        parts = ", ".join(claim.parts)
        raise InputError(f"{claim.id} is a conjunction of other claims", hint=f"verify {parts}")
    require_memory(claim, spec)
    begin = time.perf_counter()
    claim_check = recorder(objects.topology(spec), objects)
    undefined = ""
    try:
        claim.check(claim_check)
    except (StarcastError, ArithmeticError, ValueError, IndexError) as error:
        # Outside the scope of the claim a check may divide by zero or ask for a missing tree.
        if spec not in claim.sizes.beyond:
            raise
        reason = error.message if isinstance(error, StarcastError) else error
        undefined = f"not defined there ({reason})"
    # What a check recorded before it stopped is evidence as well.
    evidence = claim_check.evidence(claim.id, time.perf_counter() - begin)
    return replace(evidence, undefined=undefined)


def require_memory(claim: Claim, spec: str) -> None:
    """Accept a size whose arrays fit into memory.

    Raises:
        LimitError: they do not fit.
    """
    arrays = f"the arrays to verify {claim.id} on {spec}"
    memory.require(claim.required_bytes(spec), arrays, "take smaller sizes")


def requested_sizes(
    claim: Claim, level: Level, sizes: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Return the specs to verify, in size order; of a level, also those beyond the claim.

    Raises:
        InputError: the level is unknown, no size is given, or the claim is not about a size.
    """
    if level not in LEVELS:
        raise InputError(f"unknown level '{level}'", hint=f"levels: {', '.join(LEVELS)}")
    if sizes is None:
        return (*claim.sizes.beyond, *claim.sizes.at(level))
    if not sizes or isinstance(sizes, str):
        raise InputError(f"{sizes!r} is not a list of sizes", hint='list topologies: ["S4", "S5"]')
    for spec in sizes:
        if not applies_to(claim, spec):
            quick = ", ".join(claim.sizes.quick)
            raise InputError(
                f"claim {claim.id} is not about {spec}", hint=f"it is verified on {quick}"
            )
    return sort_sizes(sizes)


def applies_to(claim: Claim, spec: str) -> bool:
    """Return whether a claim is about a topology.

    A claim is about its own sizes, and about larger ones of their family unless its sizes are the
    same at every level.

    Raises:
        InputError: the spec is not a topology.
    """
    size = topology(spec)
    own = [known for known in claim.sizes.deep if topology(known).family == size.family]
    if not own or size.spec in own:
        return bool(own)
    is_finite = claim.sizes.quick == claim.sizes.deep
    return not is_finite and size_order(size.spec) > max(map(size_order, own))


def verdicts(claims: Iterable[Claim], evidence: Iterable[Evidence]) -> dict[str, Verdict]:
    """Return the verdict of each claim from its evidence, or from that of its parts."""
    by_claim: dict[str, list[Evidence]] = {}
    for found in evidence:
        by_claim.setdefault(found.claim, []).append(found)
    return {claim.id: _verdict(claim, by_claim) for claim in claims}


def _verdict(claim: Claim, by_claim: Mapping[str, Sequence[Evidence]]) -> Verdict:
    if claim.check is not None:
        return claim_verdict(claim, by_claim.get(claim.id, ()))
    parts = [catalogue.find_claim(part) for part in claim.parts]
    return conjunction_verdict(
        claim.id, [claim_verdict(part, by_claim.get(part.id, ())) for part in parts]
    )
