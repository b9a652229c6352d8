"""Build a `Network` from a graph of another library, such as NetworkX (`build_network`).

Readers of files return a `LinkList`, which `build_network` accepts as well.
"""

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from fractions import Fraction
from itertools import chain
from math import gcd, lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.support.errors import InputError, NetworkWarning, clean_message
from starcast.support.progress import Reporter, Silent
from starcast.support.text import pluralize
from starcast.support.vocabulary import Weights
from starcast.topologies.networks import (
    LOOP,
    Network,
    as_labels,
    check_name,
    check_titles,
    remember,
)

#: Names of the link attributes from which capacities and latencies are read; see
#: `starcast.network`.
_ATTRIBUTES = {"capacity": ("capacity", "bandwidth"), "latency": ("latency", "delay")}
#: Names of the node attributes that contain labels, and pairs of node attributes that contain the
#: two coordinates; see `starcast.network`.
_TEXTS = ("label", "name")
_COORDINATES = (("lon", "lat"), ("longitude", "latitude"), ("x", "y"))
#: A capacity or latency, as an exact number.
Amount = int | Fraction


class LinkList(NamedTuple):
    """The nodes and links of a graph, before they are checked.

    Attributes:
        nodes: the id of each node.
        pairs: the ends of each link as indices of ``nodes``.
        is_directed: whether every link has to be listed in both directions.
        attributes: the attributes of each node; empty if nodes have none.
        lines: the line number of each link in a file; empty if the graph is not from a file.
        link_attributes: the attributes of each link; empty if links have none.
        capacity_unit: the capacity that the value 1 represents if the capacities have already been
            scaled, else None. If it is given, integer capacities are not scaled again.
    """

    nodes: Sequence[str]
    pairs: Sequence[tuple[int, int]]
    is_directed: bool = False
    attributes: Sequence[Mapping[str, Any]] = ()
    lines: Sequence[int] = ()
    link_attributes: Sequence[Mapping[str, Any]] = ()
    capacity_unit: Any = None


def build_network(
    graph: Any,
    name: str = "network",
    source: str = "",
    reporter: Reporter | None = None,
    *,
    capacities: Iterable[float] | None = None,
    latencies: Iterable[int] | None = None,
    switches: Iterable[Any] | None = None,
    weights: Weights | None = None,
) -> Network:
    """Build a network from a connected graph, by the rules of `starcast.network`.

    Args:
        graph: a `LinkList`, or any graph that `starcast.network` accepts except a file.
        name: the first part of the spec.
        source: the origin of the network, such as a paper or a data set.
        reporter: reports merged parallel links, scaled capacities and the unit of latencies; by
            default, a `NetworkWarning` is issued instead, except for scaled capacities.
        capacities: the capacity of each link (default: attribute ``capacity`` or ``bandwidth``).
        latencies: the latency of each link (default: attribute ``latency`` or ``delay``).
        switches: the nodes that only forward (default: those with the attribute ``switch``).
        weights: whether the attribute ``weight`` of links is read as ``capacity`` or as ``latency``
            (default: it is ignored).

    Returns:
        The network, whose spec is valid in this process from now on.

    Raises:
        InputError: `read_graph` does not accept the graph, the graph is empty or not connected, a
            directed link has no reverse, a link joins a node to itself, a node has more than 253
            links, ``weights`` is invalid, no link has a weight although ``weights`` is given, or a
            capacity, a latency, a switch or the name is invalid.
        LimitError: the network does not fit into memory.
    """
    check_name(name)
    links = graph if isinstance(graph, LinkList) else read_graph(graph)
    if weights is not None:
        _check_weights(links, weights)
    listed = _check_links(links)
    both_ways = _are_both_ways(listed)
    titles, labels = _choose_labels(links)
    widths, has_rates = _read_numbers(links, "capacity", capacities, weights)
    latency_of, has_times = _read_numbers(links, "latency", latencies, weights)
    pairs, given, delays = _merge(links, listed, both_ways, widths, latency_of)
    keeps_whole = capacities is not None or links.capacity_unit is not None
    unit = _capacity_unit(given, keep_whole=keeps_whole)
    # The unit is nanoseconds or picoseconds only if a latency is not an integer in microseconds.
    scales = _TIME_UNITS if has_times else [1]
    scale = next((each for each in scales if all(each * delay % 1 == 0 for delay in delays)), 1)
    numbers = {title: number for number, title in enumerate(links.nodes)}
    network = Network(
        name,
        titles,
        pairs,
        labels=labels,
        positions=_find_positions(links.attributes),
        switches=_find_switches(links) if switches is None else _as_nodes(numbers, switches),
        capacities=[int(value if unit == 1 else value / unit) for value in given],
        latencies=_as_whole([scale * delay for delay in delays]),
        capacity_unit=float(unit * _read_capacity_unit(links.capacity_unit)),
        source=source,
    )
    if merged := len(listed) - len(pairs) * (1 + both_ways):
        count = pluralize(merged, "parallel link was", "parallel links were")
        report(f"{count} merged in {network.spec}; their capacities add up", reporter)
    if unit != 1:
        shown = f"{network.capacity_unit:g}{' bit/s' if has_rates else ' as given'}"
        # This is not a warning, because every command that reads the file would repeat the warning.
        (reporter or Silent()).say(f"a capacity of 1 in {network.spec} is {shown}")
    if scale != 1:
        noun = _TIME_UNITS[scale]
        message = f"the latencies of {network.spec} are in {noun}: use {noun} for T_s and T_c too"
        report(message, reporter)
    return remember(network)


def _check_weights(links: LinkList, weights: str) -> None:
    """Check that ``weights`` is ``capacity`` or ``latency``, and that a link has a weight."""
    if weights not in list(_ATTRIBUTES):
        raise InputError(
            f"weights cannot be used as {weights!r}", hint=f"use {' or '.join(_ATTRIBUTES)}"
        )
    if not any("weight" in values for values in links.link_attributes):
        raise InputError("no link has a weight", hint="add weights, or omit `weights`")


def report(message: str, reporter: Reporter | None) -> None:
    """Pass a message about a network to the reporter, or issue a warning if there is none."""
    if reporter is None:
        warnings.warn(clean_message(message), NetworkWarning, stacklevel=2)
    else:
        reporter.say(clean_message(message))


def network_of_family(spec: str, family: str, links: Any, letters: str = "") -> Network:
    """Build the topology of a family from the links that the family's function returns.

    Args:
        spec: the spec of the topology.
        family: the name of the family.
        links: the links, in a form that `starcast.network` accepts.
        letters: the first letters of switch labels; empty if there are no switches.

    Raises:
        InputError: the graph is empty or not connected, or a link or label is invalid.
        LimitError: the network does not fit into memory.
    """
    given = read_graph(links)
    _check_links(given)
    switches = [number for number, node in enumerate(given.nodes) if node[:1] in {*letters}]
    made = Network(family, given.nodes, given.pairs, switches=switches)
    made.spec, made.family = spec, family
    return made


def read_graph(graph: Any) -> LinkList:
    """Return the nodes and links of a graph, before they are checked.

    Args:
        graph: a graph of igraph, rustworkx or NetworkX, a sparse matrix of SciPy, or pairs of nodes
            as an array or as any iterable.

    Raises:
        InputError: the object is not a graph, the matrix is not square, two nodes have the same
            name, or a link is not a pair.
    """
    directed, attributes, values, unit = False, list[Any](), list[Any](), None
    ends: list[Any] | None = None
    if hasattr(graph, "get_edgelist"):  # igraph
        nodes = graph.vs["name"] if "name" in graph.vs.attributes() else range(graph.vcount())
        pairs, directed = graph.get_edgelist(), graph.is_directed()
        attributes = [vertex.attributes() for vertex in graph.vs]
        values = [edge.attributes() for edge in graph.es]
        unit = graph["capacity_unit"] if "capacity_unit" in graph.attributes() else None
    elif hasattr(graph, "edge_list"):  # rustworkx
        indices = graph.node_indices()
        nodes, directed = graph.nodes(), not hasattr(graph, "to_directed")
        if all(node is None for node in nodes):  # nodes of generated graphs are None
            nodes = indices
        numbers = {index: number for number, index in enumerate(indices)}
        pairs = [(numbers[u], numbers[v]) for u, v in graph.edge_list()]
        # An undirected graph may list parallel links in opposite directions. The pairs are sorted,
        # so that these links do not look like a link and its reverse.
        pairs = pairs if directed else [(min(pair), max(pair)) for pair in pairs]
        values = [edge if isinstance(edge, Mapping) else {} for edge in graph.edges()]
    elif hasattr(graph, "edges") and hasattr(graph, "is_directed"):  # NetworkX
        nodes, directed = list(graph.nodes), graph.is_directed()
        unit = graph.graph.get("capacity_unit")
        edges = list(graph.edges(data=True))
        # NetworkX keeps the default values of a GraphML or GEXF file as attributes of the graph.
        attributes = _with_defaults(graph, "node", [graph.nodes[node] for node in nodes])
        values = _with_defaults(graph, "edge", [data for *_, data in edges])
        ends = [(u, v) for u, v, _ in edges]
    elif hasattr(graph, "tocoo"):  # SciPy
        matrix = graph.tocoo()
        if matrix.shape[0] != matrix.shape[1]:
            raise InputError("the matrix is not square", hint="use an adjacency matrix")
        nodes, directed = range(matrix.shape[0]), True
        pairs = list(zip(matrix.row.tolist(), matrix.col.tolist(), strict=True))
        values = [{"weight": weight} for weight in matrix.data.tolist()]
    else:
        links = graph.tolist() if hasattr(graph, "tolist") else graph
        # The view of the edges of a NetworkX graph is a set and a mapping.
        is_mapping = isinstance(links, Mapping) and not isinstance(links, AbstractSet)
        if is_mapping or not isinstance(links, Iterable):
            raise InputError(
                f"an object of type {type(graph).__name__} is not a graph",
                hint="use a graph of a library that starcast.network accepts, or pairs of labels",
            )
        ends = [(_as_title(u), _as_title(v)) for u, v in map(_as_link, links)]
        nodes = list(dict.fromkeys(chain.from_iterable(ends)))
    titles = [_as_title(node) for node in nodes]
    check_titles(titles)
    if ends is not None:
        numbers = {node: number for number, node in enumerate(nodes)}
        pairs = [(numbers[u], numbers[v]) for u, v in ends]
    if any(values):
        values = [{str(key).lower(): value for key, value in each.items()} for each in values]
    return LinkList(titles, pairs, directed, attributes, (), values, unit)


def _with_defaults(graph: Any, kind: str, items: list[Any]) -> list[Any]:
    """Return the attributes of all nodes or edges of a NetworkX graph, with default values."""
    given = graph.graph.get(f"{kind}_default") or {}
    # NetworkX reads an empty default value as the text "None".
    defaults = {name: value for name, value in given.items() if value != "None"}
    return [{**defaults, **item} for item in items] if defaults else items


def _check_links(links: LinkList) -> NDArray[np.int64]:
    """Return the links as pairs of node indices, int64 ``[links, 2]``, after checking them.

    Raises:
        InputError: a link joins a node to itself, or a directed link has no reverse; the message
            contains the line number of the link, if there is one.
    """
    pairs = np.array(links.pairs, dtype=np.int64).reshape(-1, 2)
    is_wrong = pairs[:, 0] == pairs[:, 1]
    if links.is_directed:
        is_wrong |= ~np.isin(_number_pairs(pairs), _number_pairs(pairs[:, ::-1]))
    for number in np.flatnonzero(is_wrong)[:1]:
        u, v = (links.nodes[end] for end in pairs[number])
        line = f"line {links.lines[number]}: " if links.lines else ""
        if u == v:
            raise InputError(f"{line}{LOOP % u}", hint="remove the link")
        raise InputError(
            f"{line}the link from '{u}' to '{v}' has no reverse",
            hint="use an undirected graph, because the links of a topology lead both ways",
        )
    return pairs


def _number_pairs(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a unique number for each ordered pair of node indices, int64 ``[links]``."""
    numbers: NDArray[np.int64] = pairs[:, 0] << 32 | pairs[:, 1]
    return numbers


def _are_both_ways(pairs: NDArray[np.int64]) -> bool:
    """Return whether each link is listed in both directions."""
    return bool(np.isin(_number_pairs(pairs), _number_pairs(pairs[:, ::-1])).all())


def _merge(
    links: LinkList,
    listed: NDArray[np.int64],
    both_ways: bool,
    capacities: Sequence[Amount] | None,
    latencies: Sequence[Amount] | None,
) -> tuple[Sequence[tuple[int, int]], list[Amount], list[Amount]]:
    """Merge links that are listed several times, or in both directions.

    Args:
        links: the graph.
        listed: the links of the graph as pairs of node indices, ``[links, 2]``.
        both_ways: whether each link is listed in both directions.
        capacities: the capacity of each listed link; None if each is 1.
        latencies: the latency of each listed link; None if each is 0.

    Returns:
        Three sequences with one entry per merged link: the pairs of node indices, the capacities
        and the latencies. The capacities of parallel links are added.

    Raises:
        InputError: the two directions of a link have different capacities, or a link is listed
            with different latencies.
    """
    count = len(np.unique(_number_pairs(np.sort(listed, axis=1))))
    if capacities is None and latencies is None and count == len(listed):
        return links.pairs, [1] * count, [0] * count
    sums, latency_of = dict[tuple[int, int], Amount](), dict[tuple[int, int], Amount]()
    for number, (u, v) in enumerate(links.pairs):
        pair = (u, v) if both_ways else (min(u, v), max(u, v))
        sums[pair] = sums.get(pair, 0) + (capacities[number] if capacities else 1)
        latency = latencies[number] if latencies else 0
        ends = min(u, v), max(u, v)
        if latency_of.setdefault(ends, latency) != latency:
            raise InputError(
                f"{_at(links, number)}is listed with different latencies",
                hint="use the same latency for parallel links and both directions of a link",
            )
    for (u, v), capacity in sums.items() if both_ways else ():
        if sums[v, u] != capacity:
            raise InputError(
                f"the link from '{links.nodes[u]}' to '{links.nodes[v]}' and its reverse have"
                " different capacities",
                hint="use the same capacity for both directions of a link",
            )
    pairs = list(latency_of)
    return pairs, [sums[pair] for pair in pairs], list(latency_of.values())


def find_attribute(links: LinkList, name: str, weights: Weights | None = None) -> str | None:
    """Return the name of the attribute with the links' capacities or latencies; None if missing.

    Args:
        links: nodes and links; the names of link attributes are in lower case.
        name: ``capacity`` or ``latency``.
        weights: whether the attribute ``weight`` is read as ``capacity`` or as ``latency``; None to
            ignore this attribute.
    """
    names = (*(["weight"] if weights == name else []), *_ATTRIBUTES[name])
    found = (each for each in names if any(each in values for values in links.link_attributes))
    return next(found, None)


#: A decimal number of limited length, with an optional unit.
_QUANTITY = re.compile(r"([+-]?[0-9]{0,40}\.?[0-9]{0,40}(?:[eE][+-]?[0-9]{1,2})?)\s*([A-Za-z/µ]*)")
_MAX_NUMBER = 10**40
#: The size of each unit: units of capacity in bits per second, units of latency in microseconds.
_UNITS = {
    "capacity": {
        prefix + unit: Fraction(bits * 1000**power)
        for power, prefixes in enumerate(("", "kK", "mM", "gG", "tT"))
        for prefix in prefixes or [""]
        for unit, bits in {"bps": 1, "bit/s": 1, "b/s": 1, "Bps": 8, "B/s": 8}.items()
    },
    "latency": {
        "s": Fraction(10**6), "ms": Fraction(1000), "us": Fraction(1), "µs": Fraction(1),
        "ns": Fraction(1, 1000), "ps": Fraction(1, 10**6),
    },
}  # fmt: skip
_EXAMPLES = {"capacity": "100Gbps, 25 Gbit/s or 64 GB/s", "latency": "5us or 0.5 ms"}
#: Names of latency units, by the number of units per microsecond.
_TIME_UNITS = {1: "microseconds", 1000: "nanoseconds", 10**6: "picoseconds"}


def read_quantity(value: Any, name: str = "") -> tuple[Fraction, bool]:
    """Parse a number such as 4, 0.25 or 100Gbps; return the number, and whether it has a unit.

    Args:
        value: a number, or a string.
        name: ``capacity`` to allow units such as Gbps or GB/s, and to convert them to bits per
            second; ``latency`` to allow units such as us or ms, and to convert them to
            microseconds. By default, units are not allowed.

    Raises:
        ValueError: the value is not a number, the number has too many digits, or its unit is
            unknown.
    """
    units = {"": Fraction(1), **_UNITS.get(name, {})}
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        number, unit = Fraction(value), ""
    elif match := _QUANTITY.fullmatch(str(value).strip()):
        number, unit = Fraction(match[1]), match[2]
    else:
        raise ValueError(value)
    if abs(number) >= _MAX_NUMBER or unit not in units:
        raise ValueError(value)
    return number * units[unit], bool(unit)


def _read_capacity_unit(given: Any) -> Fraction:
    try:
        unit = Fraction(1) if given is None else read_quantity(given)[0]
    except ValueError:
        unit = Fraction(0)
    if unit <= 0:
        raise InputError(
            f"the capacity_unit '{str(given)[:40]}' is not a positive number",
            hint="remove capacity_unit",
        )
    return unit


def _read_numbers(
    links: LinkList, name: str, values: Iterable[Any] | None, weights: Weights | None
) -> tuple[list[Amount] | None, bool]:
    """Read the capacities or the latencies of links.

    Args:
        links: the nodes and links of the graph.
        name: ``capacity`` or ``latency``.
        values: the value of each link (default: the value of the link's attribute).
        weights: whether the attribute ``weight`` is read as ``capacity`` or as ``latency``; None to
            ignore this attribute.

    Returns:
        Two values: a list with the capacity or latency of each link, or None if there are no values
        and no link has the attribute; and whether the values have units.

    Raises:
        InputError: a value is missing, not a number or out of range, or only some values have a
            unit.
    """
    if values is None:
        attribute = find_attribute(links, name, weights)
        if attribute is None:
            return None, False
        values = [each.get(attribute) for each in links.link_attributes]
    listed = _as_list(values, f"{name} values")
    if len(listed) != len(links.pairs):
        raise InputError(
            f"{pluralize(len(listed), f'{name} value is', f'{name} values are')} given for"
            f" {pluralize(len(links.pairs), 'link')}",
            hint="specify one number for each link, in the order of the links",
        )
    numbers: list[Amount] = []
    have_units = list[bool]()
    for number, value in enumerate(listed):
        try:
            quantity, has_unit = read_quantity(value, name)
        except ValueError:
            given, hint = f"no {name}", f"add a {name} to every link, or remove it from all links"
            if value is not None and str(value):
                given = (
                    f"the {name} '{str(value)[:40]}', which is not a number of at most 40 digits, "
                    "or has an unknown unit"
                )
                hint = f"write a number, or a number with a unit, such as {_EXAMPLES[name]}"
            raise InputError(f"{_at(links, number)}has {given}", hint=hint) from None
        if quantity < 0 or (name == "capacity" and not quantity):
            raise InputError(
                f"{_at(links, number)}has the {name} {value}",
                hint="use positive capacities, and latencies of 0 or more",
            )
        numbers.append(quantity)
        have_units.append(has_unit)
    if any(have_units) != all(have_units):
        without = _at(links, have_units.index(False))
        raise InputError(
            f"{without}has a {name} without a unit",
            hint="specify a unit for all links, or for none of them",
        )
    return numbers, any(have_units)


def _at(links: LinkList, number: int) -> str:
    """Return the beginning of a message about a link, with the line and the ends of the link."""
    u, v = links.pairs[number]
    line = f"line {links.lines[number]}: " if links.lines else ""
    return f"{line}the link from '{links.nodes[u]}' to '{links.nodes[v]}' "


def _capacity_unit(capacities: Sequence[Amount], *, keep_whole: bool) -> Fraction:
    """Return the greatest common divisor of the capacities, which may be fractions.

    Args:
        capacities: the capacity of each link.
        keep_whole: whether to return 1 if all capacities are integers.
    """
    if keep_whole and all(value.denominator == 1 for value in capacities):
        return Fraction(1)
    unit = Fraction(
        gcd(*(value.numerator for value in capacities)),
        lcm(*(value.denominator for value in capacities)),
    )
    return unit or Fraction(1)


def _as_whole(latencies: Sequence[Amount]) -> list[int]:
    for latency in latencies:
        if latency.denominator != 1:
            raise InputError(
                f"the latency {float(latency):g} is not an integer",
                hint="use a smaller unit of time for latencies and T_s",
            )
    return [int(latency) for latency in latencies]


def _find_switches(links: LinkList) -> list[int]:
    """Return the indices of the nodes whose attribute ``switch`` is true, 1 or yes.

    Raises:
        InputError: the attribute of a node is neither true nor false.
    """
    found = []
    for number, node in enumerate(links.attributes):
        value = str(node.get("switch", "")).strip().lower().removesuffix(".0")
        if value in ("true", "1", "yes"):
            found.append(number)
        elif value not in ("false", "0", "no", "none", "nan", ""):
            raise InputError(
                f"the node '{links.nodes[number]}' has the attribute switch '{value[:40]}',"
                " which is neither true nor false",
                hint="use true or false, or rename the attribute",
            )
    return found


def _as_nodes(numbers: Mapping[str, int], switches: Iterable[Any]) -> list[int]:
    titles = [_as_title(switch) for switch in _as_list(switches, "switches")]
    for title in titles:
        if title not in numbers:
            raise InputError(
                f"the switch '{title}' is not a node", hint="choose nodes that have links"
            )
    return [numbers[title] for title in titles]


def _as_list(values: Iterable[Any], noun: str) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"the {noun} {values!r} are not a list", hint=f"use a list of {noun}")
    return list(values)


def _choose_labels(links: LinkList) -> tuple[Sequence[str], Sequence[str]]:
    """Return the title and the label of each node, from an attribute or from the nodes' ids.

    The documentation of `starcast.network` contains the rules.
    """
    given = [texts for key in _TEXTS if (texts := _find_texts(links.attributes, key))]
    for texts in given:
        if len(set(texts)) == len(texts):
            labels = as_labels(texts)
            # If characters of a text were replaced in its label, the text itself is a better title
            # than the id.
            return (links.nodes if labels == texts else texts), labels
    return given[0] if given else links.nodes, as_labels(links.nodes)


def _find_texts(attributes: Sequence[Mapping[str, Any]], key: str) -> list[str] | None:
    """Return each node's value of an attribute as text; None if a value is missing or empty."""
    values = [node.get(key) for node in attributes]
    texts = ["" if value is None else str(value) for value in values]
    return texts if all(texts) else None


def _find_positions(attributes: Sequence[Mapping[str, Any]]) -> NDArray[np.float64] | None:
    """Return the coordinates of all nodes, ``[nodes, 2]``; None if a node has no coordinates."""
    lowered = [{str(key).lower(): value for key, value in node.items()} for node in attributes]
    columns = [[[node.get(x), node.get(y)] for node in lowered] for x, y in _COORDINATES]
    for column in [*columns, [node.get("pos") for node in lowered]]:
        try:
            positions = np.array(column, dtype=np.float64)
        # NumPy raises these errors for texts, missing values, lists of different lengths and
        # numbers that are too large.
        except (TypeError, ValueError, OverflowError):
            continue
        if positions.ndim == 2 and positions.shape[1] == 2 and np.isfinite(positions).all():
            return positions
    return None


def _as_title(node: Any) -> str:
    """Return a node's name as a string; a tuple such as (0, 1), from a grid, becomes ``0,1``."""
    return ",".join(map(str, node)) if isinstance(node, tuple) else str(node)


def _as_link(link: Any) -> tuple[Any, Any]:
    # The characters of a string and the keys of a mapping are not the ends of a link.
    if not isinstance(link, str | Mapping):
        with suppress(TypeError, ValueError):
            first, second = link
            return first, second
    raise InputError(f"{link!r} is not a link", hint="use pairs of labels, such as ('a', 'b')")
