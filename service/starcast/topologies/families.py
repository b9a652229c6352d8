"""Families of topologies: how their specs are written, and how their members are built."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from starcast.errors import InputError
from starcast.support.text import did_you_mean
from starcast.topologies import hypercube, nk_star, star
from starcast.topologies.base import Topology

#: The characters of a spec, for messages. Ids with specs appear in files of many formats, so a spec
#: contains no character that one of them treats specially.
SPEC_CHARACTERS = "at most 50 ASCII letters, digits, and the characters , . _ + -"
_SPEC = re.compile(r"[A-Za-z0-9][A-Za-z0-9,._+-]{0,49}")
_NUMBER = "(0|[1-9][0-9]{0,3})"


@dataclass(frozen=True)
class TopologyFamily:
    """A family of topologies.

    Attributes:
        name: what `Topology.family` is.
        pattern: a regular expression that matches the specs; its groups are the numbers.
        noun: what its topologies are, in the plural, for messages.
        spelling: how a spec is written, for messages: ``S2 to S12 for a star graph``.
        build: ``build(spec, *numbers)`` returns the topology.
        source: the paper that defines the family.
    """

    name: str
    pattern: re.Pattern[str]
    noun: str
    spelling: str
    build: Callable[..., Topology]
    source: str


def _star(_spec: str, n: int) -> star.Star:
    if not star.SMALLEST <= n <= star.LARGEST:
        raise InputError(
            f"the star graph S{n} is out of range",
            hint=f"n goes from {star.SMALLEST} to {star.LARGEST}",
        )
    return star.Star(n)


def _nk_star(_spec: str, n: int, k: int) -> nk_star.NkStar:
    if not nk_star.SMALLEST <= n <= nk_star.LARGEST:
        raise InputError(
            f"the (n,k)-star S{n},{k} is out of range",
            hint=f"n goes from {nk_star.SMALLEST} to {nk_star.LARGEST}",
        )
    if not 1 <= k <= n - 1:
        raise InputError(
            f"the (n,k)-star S{n},{k} is out of range",
            hint=f"with n = {n}, k goes from 1 to {n - 1}",
        )
    if k > nk_star.largest_k(n):
        raise InputError(
            f"the (n,k)-star S{n},{k} has more than {nk_star.MOST_NODES:,} nodes",
            hint=f"with n = {n}, k goes from 1 to {nk_star.largest_k(n)}",
        )
    return nk_star.NkStar(n, k)


def _hypercube(_spec: str, d: int) -> hypercube.Hypercube:
    if not hypercube.SMALLEST <= d <= hypercube.LARGEST:
        raise InputError(
            f"the hypercube Q{d} is out of range",
            hint=f"d goes from {hypercube.SMALLEST} to {hypercube.LARGEST}",
        )
    return hypercube.Hypercube(d)


_SHIPPED = (
    TopologyFamily(
        "star", re.compile(f"S{_NUMBER}"), "star graphs",
        f"S{star.SMALLEST} to S{star.LARGEST} for a star graph", _star,
        "Akers & Krishnamurthy 1989",
    ),
    TopologyFamily(
        "nk-star", re.compile(f"S{_NUMBER},{_NUMBER}"), "(n,k)-stars",
        "S6,3 for an (n,k)-star", _nk_star, "Li, Chen, Xiang & Yao",
    ),
    TopologyFamily(
        "hypercube", re.compile(f"Q{_NUMBER}"), "hypercubes",
        f"Q{hypercube.SMALLEST} to Q{hypercube.LARGEST} for a hypercube", _hypercube,
        "Johnsson & Ho 1989",
    ),
)  # fmt: skip

#: All families by name: those that are shipped, then those of plug-ins.
FAMILIES: dict[str, TopologyFamily] = {family.name: family for family in _SHIPPED}
#: The names of the families that are shipped.
SHIPPED = tuple(FAMILIES)

#: Specs of the shipped families. A plug-in's pattern must match none of them.
_TAKEN = tuple(f"{letter}{n}{k}" for letter in "SQ" for n in range(1, 36) for k in ("", ",1", ",2"))


def register_family(family: TopologyFamily) -> None:
    """Add a family.

    Raises:
        InputError: its name is taken, or its specs could be those of another family.
    """
    if family.name in FAMILIES:
        raise InputError(
            f"the family '{family.name}' exists already ({FAMILIES[family.name].source})",
            hint="choose another name",
        )
    taken = next(filter(family.pattern.fullmatch, _TAKEN), None)
    if taken is not None:
        raise InputError(
            f"the pattern '{family.pattern.pattern}' matches '{taken}', a spec that is shipped",
            hint="begin the specs with other letters than S and Q",
        )
    FAMILIES[family.name] = family


def find_family(name: str) -> TopologyFamily:
    """Return the family of a name.

    Raises:
        InputError: no family has this name.
    """
    if name not in FAMILIES:
        raise InputError(
            f"unknown family '{name}'",
            hint=f"{did_you_mean(name, FAMILIES)}choose one of {', '.join(FAMILIES)}",
        )
    return FAMILIES[name]


def topology(spec: str) -> Topology:
    """Return the topology of a spec.

    Args:
        spec: ``S5`` for the star graph S_5, ``S6,3`` for the (n,k)-star S_{6,3}, ``Q4`` for the
            hypercube Q_4; families of plug-ins have specs of their own.

    Raises:
        InputError: the spec has another form, or its size is out of range.

    Example:
        >>> topology("S5").diameter
        6
    """
    text = str(spec)
    families = FAMILIES.values() if _SPEC.fullmatch(text) else ()
    for family in families:
        if match := family.pattern.fullmatch(text):
            try:
                numbers = [int(group) for group in match.groups()]
            except (TypeError, ValueError):  # of the pattern of a plug-in
                raise InputError(
                    f"'{text}' matches the pattern of the family '{family.name}', but not each of"
                    " its groups is a number",
                    hint=f"write {family.spelling}, or correct the plug-in's pattern",
                ) from None
            return family.build(text, *numbers)
    spellings = ", ".join(family.spelling for family in FAMILIES.values())
    raise InputError(f"unknown topology '{spec}'", hint=f"write {spellings}")


def count_nodes(spec: str) -> int:
    """Return the nodes of a stored topology; 0 if it belongs to a plug-in that is not loaded."""
    try:
        return topology(spec).nodes
    except InputError:
        return 0


def as_topology(topology_or_spec: Topology | str) -> Topology:
    """Return a topology that is given as an object or as a spec.

    Raises:
        InputError: see `topology`.
    """
    if isinstance(topology_or_spec, Topology):
        return topology_or_spec
    return topology(topology_or_spec)
