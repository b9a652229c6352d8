"""Looking at statements, one after the other, in this process."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from starcast.claims import catalogue
from starcast.claims.declaration import LEVELS, Claim, Level, in_order
from starcast.claims.evidence import Evidence
from starcast.claims.lab import Lab
from starcast.claims.see import See
from starcast.claims.statements import parts
from starcast.claims.verdict import Verdict, conjunction, verdict
from starcast.errors import InputError, StarcastError
from starcast.topologies import memory, topology


def check(name: str, level: Level = "quick", sizes: Sequence[str] | None = None) -> Verdict:
    """Look at one statement of the papers, and say what becomes of it.

    Args:
        name: its id, such as ``TS.L5``.
        level: ``quick`` (seconds), ``full`` or ``deep``: up to which sizes.
        sizes: instead, the topologies to look at, such as ``["S4", "S5"]``.

    Raises:
        InputError: there is no such statement or level, or a size is of a family of which it does not speak.
        LimitError: a size does not fit into the memory of this machine.
    """
    one = catalogue.claim(name)
    wanted = [catalogue.claim(part) for part in parts(name)] if one.check is None else [one]
    return verdicts([one], [evidence for part in wanted for evidence in _all(part, level, sizes)])[
        name
    ]


def look(claim: Claim, spec: str, lab: Lab, see: type[See] = See) -> Evidence:
    """What the check of a statement finds at one size.

    Raises:
        LimitError: the size does not fit into the memory of this machine.
    """
    if claim.check is None:
        raise InputError(
            f"{claim.id} is the conjunction of others", hint=f"look at {', '.join(parts(claim.id))}"
        )
    memory.require(
        claim.needs(spec), f"the arrays that {claim.id} looks at on {spec}", "take smaller sizes"
    )
    began = time.perf_counter()
    looking = see(lab.topology(spec), lab)
    undefined = ""
    try:
        claim.check(looking)
    except (StarcastError, ArithmeticError, ValueError, IndexError) as error:
        if spec not in claim.sizes.beyond:
            raise
        undefined = (
            f"not defined there ({error.message if isinstance(error, StarcastError) else error})"
        )
    return replace(looking.evidence(claim.id, time.perf_counter() - began), undefined=undefined)


def asked(claim: Claim, level: Level, sizes: Sequence[str] | None = None) -> tuple[str, ...]:
    """The sizes to look at, those beyond the statement among them.

    Raises:
        InputError: there is no such level, no size is named, or one is of a family of which the statement does not speak.
    """
    if level not in LEVELS:
        raise InputError(f"'{level}' is no level", hint=f"there are {', '.join(LEVELS)}")
    if sizes is None:
        return (*claim.sizes.beyond, *claim.sizes.at(level))
    if not sizes or isinstance(sizes, str):
        raise InputError(
            f"{sizes!r} is no list of sizes", hint='name topologies in a list: ["S4", "S5"]'
        )
    for spec in sizes:
        if not speaks_of(claim, spec):
            raise InputError(
                f"{claim.id} says nothing about {spec}",
                hint=f"it is looked at on {', '.join(claim.sizes.quick)}",
            )
    return tuple(sorted({topology(spec).spec for spec in sizes}, key=in_order))


def speaks_of(claim: Claim, spec: str) -> bool:
    """Whether a statement is about a size: one of its own, or a larger one of their family where it does not end with them.

    Raises:
        InputError: there is no such topology.
    """
    where = topology(spec)
    own = [one for one in claim.sizes.deep if topology(one).family == where.family]
    if not own or where.spec in own:
        return bool(own)
    ends = claim.sizes.quick == claim.sizes.deep
    return not ends and in_order(where.spec) > max(map(in_order, own))


def verdicts(claims: Iterable[Claim], evidence: Iterable[Evidence]) -> dict[str, Verdict]:
    """The verdict of each statement for which there is evidence, or of whose parts there is."""
    seen: dict[str, list[Evidence]] = {}
    for one in evidence:
        seen.setdefault(one.claim, []).append(one)
    out: dict[str, Verdict] = {}
    for claim in claims:
        out[claim.id] = _verdict(claim, seen)
    return out


def _verdict(claim: Claim, seen: Mapping[str, Sequence[Evidence]]) -> Verdict:
    if claim.check is not None:
        return verdict(claim, seen.get(claim.id, ()))
    return conjunction(
        claim.id, [verdict(catalogue.claim(part), seen.get(part, ())) for part in parts(claim.id)]
    )


def _all(claim: Claim, level: Level, sizes: Sequence[str] | None) -> Iterable[Evidence]:
    lab = Lab()
    return [look(claim, spec, lab) for spec in asked(claim, level, sizes)]
