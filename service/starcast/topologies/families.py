"""Families of topologies: how their specs are written, and how their members are built."""

import re
from collections.abc import Callable, Iterator
from itertools import chain, product

from starcast.catalogue.declarations import Function, check_declaration
from starcast.catalogue.entries import FAMILIES, Family
from starcast.catalogue.origin import Located, Origin, run_guarded
from starcast.errors import InputError
from starcast.topologies.base import Topology
from starcast.topologies.cayley import CayleyGraph

#: The characters of a spec, for messages. Ids with specs appear in files of many formats, so a spec
#: contains no character that one of them treats specially.
SPEC_CHARACTERS = "at most 50 ASCII letters, digits, and the characters , . _ + -"
_SPEC = re.compile(r"[A-Za-z0-9][A-Za-z0-9,._+-]{0,49}")
#: Parts of a pattern that match no spec: escapes of other characters, and characters that belong
#: neither to a spec nor to the syntax of regular expressions.
_FOREIGN = re.compile(r"\\[^dw.+,-]|[^A-Za-z0-9,._+\\()\[\]{}*?|^$-]")
_GROUP = re.compile(r"\(\?(P<\w+>|[:=!])")


def family(
    name: str, *, pattern: str, source: str, noun: str = "", spelling: str = ""
) -> Callable[[Function], Function]:
    r"""Declare a function as a family of Cayley graphs of permutations.

    The function is called with the numbers in a spec, and returns the generators as permutations of
    the positions 1..n. A node x is linked to (x[g_1], .., x[g_n]) for every generator g, over the
    ports 2, 3, ... in the order of the generators. Inverses of generators must be generators.

    Args:
        name: lower-case words joined by hyphens.
        pattern: a regular expression of the specs, such as ``P(\d+)``; its groups are numbers.
            Specs are at most 50 ASCII letters, digits, commas, points, underscores, plus signs and
            hyphens, whatever else the pattern matches.
        source: the paper that defines the family.
        noun: what the graphs are, in the plural, for messages.
        spelling: how a spec is written, for messages; by default the pattern.

    Raises:
        InputError: the name is taken, or the pattern is malformed or matches specs of others.
    """

    def decorate(function: Function) -> Function:
        origin = check_declaration(
            "family", name, function, pattern=pattern, source=source, noun=noun, spelling=spelling
        )
        subject = f"the family '{name}'"

        def build(spec: str, *numbers: int) -> Topology:
            built = run_guarded(subject, origin, lambda: function(*numbers))
            if isinstance(built, Topology):
                return built
            with Located(subject, origin):
                return CayleyGraph(spec, name, built)

        entry = Family(
            name=name, source=source, origin=origin, build=build,
            pattern=_compile_pattern(name, pattern, origin),
            noun=noun or f"{name} graphs", spelling=spelling or pattern,
        )  # fmt: skip
        FAMILIES.register(entry)
        return function

    return decorate


def _compile_pattern(name: str, pattern: str, origin: Origin) -> re.Pattern[str]:
    """Return the compiled pattern of a family.

    Raises:
        InputError: it is malformed, has no group, contains a character that no spec has, or matches
            specs of a shipped family.
    """
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise InputError(
            f"{origin}: the pattern of '{name}' is malformed: {error}",
            hint="write a regular expression such as P(\\d+)",
        ) from None
    if not compiled.groups:
        raise InputError(
            f"{origin}: the pattern of '{name}' has no group",
            hint="put the numbers into parentheses, such as P(\\d+)",
        )
    foreign = _FOREIGN.search(_GROUP.sub("(", pattern))
    if foreign is not None:
        raise InputError(
            f"{origin}: the pattern of '{name}' contains {foreign.group()!r}",
            hint=f"specs consist of {SPEC_CHARACTERS}",
        )
    shipped = [each for each in FAMILIES.values() if each.origin.is_shipped and each.name != name]
    taken = next(filter(compiled.fullmatch, chain.from_iterable(map(_examples, shipped))), None)
    if taken is not None:
        letters = dict.fromkeys(each.pattern.pattern[0] for each in shipped)
        raise InputError(
            f"the family '{name}' ({origin}): the pattern '{pattern}' matches '{taken}', a spec"
            " that is shipped",
            hint=f"begin the specs with other letters than {' and '.join(letters)}",
        )
    return compiled


def _examples(shipped: Family) -> Iterator[str]:
    """Yield specs of a family, with many first numbers."""
    *texts, last = re.split(r"\(.*?\)", shipped.pattern.pattern)
    for first, other in product(range(1, 36), (1, 2)):
        numbers = [first, *[other] * (len(texts) - 1)]
        yield "".join(f"{text}{number}" for text, number in zip(texts, numbers, strict=True)) + last


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
    for entry in FAMILIES.values() if _SPEC.fullmatch(text) else ():
        if match := entry.pattern.fullmatch(text):
            try:
                numbers = [int(group) for group in match.groups()]
            except (TypeError, ValueError):  # of the pattern of a plug-in
                raise InputError(
                    f"'{text}' matches the pattern of the family '{entry.name}', but not each of"
                    " its groups is a number",
                    hint=f"write {entry.spelling}, or correct the plug-in's pattern",
                ) from None
            # A topology has one spec: S05 is not another name of S5.
            if tuple(map(str, numbers)) == match.groups():
                built: Topology = entry.build(text, *numbers)
                return built
    spellings = ", ".join(entry.spelling for entry in FAMILIES.values())
    raise InputError(f"unknown topology '{spec}'", hint=f"write {spellings}")


def as_topology(topology_or_spec: Topology | str) -> Topology:
    """Return a topology that is given as an object or as a spec.

    Raises:
        InputError: see `topology`.
    """
    if isinstance(topology_or_spec, Topology):
        return topology_or_spec
    return topology(topology_or_spec)
