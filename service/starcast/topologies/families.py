"""Declare topology families (`family`), and build topologies from specs (`topology`)."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from functools import lru_cache
from itertools import chain, islice, product
from typing import Any, Literal

import numpy as np

from starcast.catalogue.entries import FAMILIES, Family, Function, check_declaration
from starcast.catalogue.plugins import Origin, located, run_guarded
from starcast.support.errors import InputError, LimitError
from starcast.support.resolvers import resolve
from starcast.support.text import with_article
from starcast.support.vocabulary import (
    EXPANDED,
    LABEL,
    LABEL_CHARACTERS,
    SPEC,
    SPEC_CHARACTERS,
    is_network_path,
)
from starcast.topologies.base import Topology
from starcast.topologies.cayley import (
    CayleyGraph,
    EvenPermutations,
    Permutations,
    Residues,
    SignedPermutations,
    Subgroup,
)
from starcast.topologies.network_building import network_of_family
from starcast.topologies.networks import find_network, is_network_spec

#: Matches what a family's pattern must not contain: escape sequences for characters that no spec
#: contains, and characters that belong neither to specs nor to the syntax of regular expressions.
_FOREIGN = re.compile(r"\\[^dw.+,-]|[^A-Za-z0-9,._+\\()\[\]{}*?|^$-]")
_GROUP = re.compile(r"\(\?(P<\w+>|[:=!])")

#: The class of each group that `family` accepts, by name. The entry for residues is None, because
#: each spec has its own moduli and thus its own group.
_GROUPS: dict[str, type[Permutations] | None] = {
    "permutations": Permutations,
    "even permutations": EvenPermutations,
    "signed permutations": SignedPermutations,
    "residues": None,
    "generated": Subgroup,
}
#: Maximum number of links that a family's function may return for one topology.
MAX_LINKS = 250_000


def family(
    name: str,
    *,
    pattern: str,
    source: str,
    noun: str = "",
    spelling: str = "",
    group: Literal[
        "permutations", "even permutations", "signed permutations", "residues", "generated"
    ] = "permutations",
    sizes: range | None = None,
    switches: str = "",
) -> Callable[[Function], Function]:
    r"""Declare a function as a family of Cayley graphs or of graphs that are given by their links.

    The function is called with the numbers in a spec. If it returns links, these are pairs of
    labels, or an array ``[links, 2]``. A link may occur several times, in either direction. Ports
    are the colours of a link colouring; see `starcast.network`. Nodes with certain first letters
    can be declared as ``switches``. The function may also return a complete `Topology`.

    For Cayley graphs, the function returns the generators, by default permutations of 1..n. A node
    x is linked to (x[g_1], .., x[g_n]) for every generator g, over the ports 2, 3, ... in the order
    of the generators. Inverses of generators must be generators.

    For ``signed permutations``, a negative position also changes the sign of the symbol that it
    moves. For ``residues``, nodes are vectors modulo the numbers in the spec, and generators are
    vectors that are added. For ``generated``, generators are permutations, signed if a position is
    negative, and nodes are the permutations that they generate.

    Args:
        name: lower-case words joined by hyphens.
        pattern: a regular expression that matches the specs, such as ``P(\d+)``; its groups match
            the numbers. A spec has at most 50 characters: ASCII letters, digits, commas, periods,
            underscores, plus signs and hyphens, even if the pattern also matches other strings. A
            spec that ends with a hyphen and six hexadecimal digits is that of a network, never of a
            family.
        source: the paper that defines the family.
        noun: the plural noun for the graphs in messages, such as ``pancake graphs``; it ends in s.
        spelling: a description of valid specs for messages, such as ``P2 to P12 for a pancake
            graph``; by default derived from ``sizes``, or the pattern if ``sizes`` is omitted.
        group: the group whose elements are the nodes of each graph.
        sizes: the allowed values of the first number in a spec; by default all.
        switches: the first letters of switch labels, such as ``ace``; by default, no node is a
            switch.

    Raises:
        InputError: the name is already used or malformed, an option is malformed, the declared
            object is not a function, or the pattern matches specs of a built-in family.
    """

    def decorate(function: Function) -> Function:
        origin = check_declaration(
            "family", name, function, pattern=pattern, source=source, noun=noun, spelling=spelling,
            group=group, sizes=sizes, switches=switches,
        )  # fmt: skip
        if group not in _GROUPS:
            raise InputError(
                f"{origin}: the group {group!r} of the family '{name}' is unknown",
                hint=f"choose one of {', '.join(_GROUPS)}",
            )
        subject = f"the family '{name}'"
        many = noun or f"{name} graphs"
        if not (many.endswith("s") or origin.is_shipped):
            raise InputError(
                f"{origin}: the noun '{many}' of the family '{name}' does not end in s",
                hint="write a plural, such as pancake graphs",
            )

        # Topologies are cached, because a spec is parsed many times, and colouring the links of a
        # large graph takes a second.
        @lru_cache(maxsize=4)
        def build(spec: str, *numbers: int) -> Topology:
            # The size is checked before the call, because the function's own error would not name
            # the allowed sizes.
            if sizes and numbers and numbers[0] not in sizes:
                first = next(iter(inspect.signature(function).parameters), "n")
                raise InputError(
                    f"the {many[:-1]} {spec} is out of range",
                    hint=f"choose {first} from {sizes[0]} to {sizes[-1]}",
                )
            built = run_guarded(subject, origin, lambda: function(*numbers))
            with located(subject, origin):
                if isinstance(built, Topology):
                    if built.spec != spec:
                        raise InputError(
                            f"the function returned a topology with the spec {built.spec!r} for"
                            f" {spec}",
                            hint=f"return a topology whose spec is {spec}",
                        )
                    # The generators of Cayley graphs have already been checked. Built-in topologies
                    # are checked in tests, because checking all labels of S12 takes too long.
                    if not (origin.is_shipped or isinstance(built, CayleyGraph)):
                        _check_ports(built)
                        _check_labels(built)
                    return built
                values = _read_values(built, spec)
                if group == "permutations" and _are_links(values):
                    return network_of_family(spec, name, values, switches)
                return CayleyGraph(spec, name, values, _GROUPS[group] or Residues(numbers))

        entry = Family(
            name=name, source=source, origin=origin, build=build, noun=many,
            pattern=_compile_pattern(name, pattern, origin),
            spelling=spelling or (_spell(pattern, many, sizes) if sizes else pattern),
        )  # fmt: skip
        FAMILIES.register(entry)
        return function

    return decorate


def _read_values(built: Any, spec: str) -> Any:
    """Return the generators or links that a family's function returned, as a list.

    A result that is not iterable is returned unchanged.

    Raises:
        LimitError: there are more than `MAX_LINKS` values.
    """
    values = list(islice(built, MAX_LINKS + 1)) if isinstance(built, Iterable) else built
    if isinstance(values, list) and len(values) > MAX_LINKS:
        raise LimitError(
            f"{spec} has too many links: more than {MAX_LINKS:,}", hint="choose a smaller topology"
        )
    return values


def _are_links(values: Any) -> bool:
    """Return whether all values are pairs, which means that they are links, not generators.

    The list [[2, 1]] is an exception: it contains the generator of the permutations of 1 and 2.
    """
    try:
        pairs = [tuple(value) for value in values if not isinstance(value, str)]
    except TypeError:
        return False
    return bool(pairs) and {*map(len, pairs)} == {2} and pairs != [(2, 1)]


def _compile_pattern(name: str, pattern: str, origin: Origin) -> re.Pattern[str]:
    """Check and compile the regular expression that the specs of a family match.

    Raises:
        InputError: the pattern is malformed, has no group, contains a character that no spec can
            contain, or matches specs of a built-in family.
    """
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise InputError(
            f"{origin}: the pattern of the family '{name}' is malformed: {error}",
            hint="write a regular expression such as P(\\d+)",
        ) from None
    if not compiled.groups:
        raise InputError(
            f"{origin}: the pattern of the family '{name}' has no group",
            hint="put the numbers into parentheses, such as P(\\d+)",
        )
    foreign = _FOREIGN.search(_GROUP.sub("(", pattern))
    if foreign is not None:
        raise InputError(
            f"{origin}: the pattern of the family '{name}' contains {foreign.group()!r}, which no"
            " spec can contain",
            hint=f"write a pattern for specs of {SPEC_CHARACTERS}",
        )
    # It is hard to decide whether two patterns can match the same string, so the pattern is only
    # tried on sample specs. The patterns of built-in families are tried in a unit test instead,
    # because starcast should be imported quickly.
    others = () if origin.is_shipped else FAMILIES.values()
    shipped = [each for each in others if each.origin.is_shipped and each.name != name]
    taken = next(filter(compiled.fullmatch, chain.from_iterable(map(_examples, shipped))), None)
    if taken is not None:
        letters = map(_letters, shipped)
        raise InputError(
            f"the family '{name}' ({origin}): the pattern '{pattern}' matches '{taken}', the spec"
            " of a built-in topology",
            hint=f"begin the specs with letters other than {', '.join(dict.fromkeys(letters))}",
        )
    return compiled


def _check_ports(built: Topology) -> None:
    """Check that each port maps the nodes one to one, and that its reverse port leads back.

    Raises:
        InputError: a port leads two nodes to the same node, or its reverse port does not lead back.
    """
    nodes = np.arange(built.nodes)
    for port in built.ports:
        ends = built.neighbours(port)
        if not np.array_equal(np.sort(ends), nodes):
            raise InputError(
                f"the port {port} of {built.spec} does not lead to every node exactly once",
                hint=f"return each node exactly once from neighbours({port}); a node without a link"
                " at the port is its own neighbour",
            )
        reverse = built.reverse_port(port)
        wrong = np.flatnonzero(built.neighbours(reverse)[ends] != nodes)
        if len(wrong):
            raise InputError(
                f"the reverse port of {port} on {built.spec} is {reverse}, which does not lead back"
                f" to {built.label(int(wrong[0]))}",
                hint=f"let reverse_port({port}) return the port that leads back",
            )


def _check_labels(built: Topology) -> None:
    """Check that labels are unique and match `LABEL`, and that ``rank`` returns their nodes.

    Raises:
        InputError: a label is repeated or malformed, or ``rank`` returns another node for it.
    """
    ranks: dict[str, int] = {}
    for rank, label in enumerate(map(str, built.labels())):
        if not re.fullmatch(LABEL, label) or label == EXPANDED:
            raise InputError(
                f"{label!r} is not a valid label of {built.spec}",
                hint=f"use labels of {LABEL_CHARACTERS}, but not '{EXPANDED}'",
            )
        if ranks.setdefault(label, rank) != rank or built.rank(label) != rank:
            raise InputError(
                f"the label '{label}' of {built.spec} belongs to two nodes, or rank() returns the"
                f" wrong rank for it",
                hint="use a different label for every node, and let rank(label) return its rank",
            )


def _letters(entry: Family) -> str:
    """Return the letters at the beginning of a family's specs, such as S."""
    return entry.pattern.pattern.partition("(")[0]


def _spell(pattern: str, noun: str, sizes: range) -> str:
    """Return a description of valid specs, such as ``P2 to P12 for a pancake graph``."""
    letters = pattern.partition("(")[0]
    return f"{letters}{sizes[0]} to {letters}{sizes[-1]} for {with_article(noun[:-1])}"


def _examples(shipped: Family) -> Iterator[str]:
    """Yield sample specs of a built-in family, such as S1, S2, .. for star graphs."""
    first, *later = re.findall(r"\D+", shipped.spelling.split()[0])
    for number, other in product(range(1, 36), (1, 2)):
        yield f"{first}{number}" + "".join(f"{text}{other}" for text in later)


def topology(spec: str) -> Topology:
    """Return the topology of the given spec.

    Args:
        spec: ``S5`` for the star graph S_5, ``S6,3`` for the (n,k)-star S_{6,3}, ``Q4`` for the
            hypercube Q_4; plug-ins add specs for their own families. Networks have specs too, if
            `starcast.network` built them in this process, or if they are in the store of an open
            lab.

    Raises:
        InputError: the spec is unknown, or its size is out of range.
        LimitError: the topology does not fit into memory, or its family's function returns more
            than `MAX_LINKS` links.
        UnavailableError: the spec is that of a network, and the server of an open lab is not
            running.

    Example:
        >>> topology("S5").diameter
        6
    """
    text = str(spec)
    if known := find_network(text):
        return known
    is_family = re.fullmatch(SPEC, text) and not is_network_spec(text)
    for entry in FAMILIES.values() if is_family else ():
        if match := entry.pattern.fullmatch(text):
            groups = [group for group in match.groups() if group is not None]
            try:
                numbers = [int(group) for group in groups]
            except ValueError:  # a plug-in's pattern may match other text
                raise InputError(
                    f"'{text}' matches the pattern of the family '{entry.name}', but one of"
                    " the pattern's groups is not a number",
                    hint=f"write {entry.spelling}, or correct the plug-in's pattern",
                ) from None
            # A topology has a single spec, so S05 is not accepted in place of S5.
            if [str(number) for number in numbers] == groups:
                built: Topology = entry.build(text, *numbers)
                return built
    if is_network_spec(text) and (stored := resolve(text)):
        return stored  # type: ignore[no-any-return]
    raise InputError(f"unknown topology '{spec}'", hint=_explain_unknown(text))


def is_family_spec(text: str) -> bool:
    """Return whether a string has the form of a family's spec, such as ``S5`` or ``S99``."""
    return any(entry.pattern.fullmatch(text) for entry in FAMILIES.values())


def _explain_unknown(text: str) -> str:
    """Return the hint for an unknown spec, such as a corrected spec or a similar family's specs."""
    if is_network_path(text):
        return (
            "use a spec or the name of a stored network; 'starcast topology add' stores the network"
            " of a file; in Python, `starcast.network` reads the file"
        )
    digit = re.search(r"\d|$", text).start()  # type: ignore[union-attr]  # matches every text
    beginning = "" if is_network_spec(text) else text[:digit].lower()
    similar = {_letters(entry).lower(): _letters(entry) for entry in FAMILIES.values()}
    spellings = ""
    for close in get_close_matches(beginning, similar, n=1):
        near = [entry for entry in FAMILIES.values() if _letters(entry) == similar[close]]
        corrected = similar[close] + text[digit:].lower()
        if corrected != text and any(entry.pattern.fullmatch(corrected) for entry in near):
            return f"did you mean '{corrected}'?"
        spellings = f"write {', '.join(entry.spelling for entry in near)}; "
    return (
        f"{spellings}'starcast topology families' lists all families; to read a file, use its"
        " path; for the family of a plug-in, load the plug-in with `plugins`"
    )


def normalize_id(artifact_id: str) -> str:
    """Return an artifact's id in the form in which it is stored.

    If the topology has translations, the label at the end of the id is changed to lower case. The
    id is returned unchanged if the topology is unknown or has no translations, because labels of
    such topologies may contain capitals.
    """
    head, colon, label = artifact_id.rpartition(":")
    try:
        keeps_case = not colon or not topology(head.partition(":")[0]).has_translations
    except (InputError, LimitError):
        keeps_case = True
    return artifact_id if keeps_case else f"{head}:{label.lower()}"


def count_nodes(spec: str) -> int:
    """Return the number of nodes of a topology.

    The result is 0 if the spec is invalid or unknown, for example because a plug-in is not loaded.
    """
    try:
        return topology(spec).nodes
    except (InputError, LimitError):
        return 0


def as_topology(topology_or_spec: Topology | str) -> Topology:
    """Return a given topology unchanged, or return the topology of a given spec.

    Raises:
        InputError: the spec is unknown, or its size is out of range.
        LimitError: the topology does not fit into memory, or has too many links.
        UnavailableError: the spec is that of a network, and the server of an open lab is not
            running.
    """
    if isinstance(topology_or_spec, Topology):
        return topology_or_spec
    return topology(topology_or_spec)
