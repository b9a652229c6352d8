"""`Network`, a topology given by its links, and `build_network`, which makes one of a graph.

The ports of a network are the colours of a proper colouring of its links (`colouring.py`), so each
port is a partial matching, and crossing a port twice leads back, as on star graphs.

A network is a value: its spec is its name and the first digits of the SHA-256 of its labels,
switches, links, capacities and latencies. The networks of this process are known by their specs, so
`starcast.topology` returns them. Stores add networks that they hold when these are asked for; see
`starcast.support.resolvers`.
"""

import hashlib
import json
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain
from math import gcd, lcm
from operator import eq
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.support.arrays import Integers, freeze
from starcast.support.errors import (
    InputError,
    LimitError,
    NetworkWarning,
    RejectedError,
    clean_message,
)
from starcast.support.progress import Reporter
from starcast.support.text import did_you_mean, pluralize
from starcast.support.vocabulary import EXPANDED, LABEL, Weights
from starcast.topologies import memory
from starcast.topologies.base import MAX_SEARCHES, MAX_UINT8_DISTANCE, Topology
from starcast.topologies.colouring import colour_links
from starcast.topologies.permutations import Ranks

#: The names of networks, which begin their specs.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.]{0,42}")
#: The form of the specs of networks, which no family uses.
_SPEC = re.compile(NAME.pattern + "-[0-9a-f]{6}")
_LONGEST_LABEL = 40
_NOT_IN_LABELS = re.compile(r"[^A-Za-z0-9_.]")
#: Characters of titles that a store, a page or a terminal cannot show.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
#: Ports are uint8, and a colouring may need one port more than the largest degree.
MAX_DEGREE = 253
#: Networks with more nodes have no `distance_profile`, which needs a search from every node.
MAX_PROFILE_NODES = 5_000
#: Links that the searches of `Network.diameter` may follow, in either direction: some seconds.
_MAX_FOLLOWED = 10**8

#: The largest least common multiple of capacities, which is a factor of every time.
MAX_COMMON_CAPACITY = 10**6
#: The largest latency of a link, in the unit of T_s.
MAX_LATENCY = 10**9
#: Attributes of links with capacities and latencies; see `starcast.network`.
_ATTRIBUTES = {"capacity": ("capacity", "bandwidth"), "latency": ("latency", "delay")}
#: Attributes of nodes with a string to use as label, and with a position; see `starcast.network`.
_TEXTS = ("label", "name")
_COORDINATES = (("lon", "lat"), ("longitude", "latitude"), ("x", "y"))
#: Memory in bytes that a network takes while it is made: per link, and per node and port.
_LINK_BYTES, _PORT_BYTES = 500, 12
_LOOP = "a link joins '%s' to itself"

#: A capacity or latency; whole numbers are faster.
Amount = int | Fraction
_known: dict[str, "Network"] = {}


class Network(Topology):
    """A connected graph that is given by its links; `starcast.network` makes one.

    Endpoints are ranked before switches, and each by label: numbers by value, then other labels by
    code points.

    Args:
        name: the first part of the spec.
        titles: a string for each node.
        links: pairs of indices of ``titles``; repeated links count once.
        labels: the label of each title. By default, titles become labels: other characters than
            letters, digits, ``_`` and ``.`` are replaced by ``_``, and equal labels get ``.2``,
            ``.3``, ..
        ports: the port of each link, if the network was stored with them.
        positions: the coordinates of each node in a drawing, ``[nodes, 2]``.
        switches: indices of the ``titles`` of the nodes that only forward.
        capacities: the capacity of each link, an integer from 1 (default: 1 for all).
        latencies: the latency of each link in the unit of T_s, an integer from 0 (default: 0).
        capacity_unit: the capacity in the source of a link with the capacity 1.
        source: where the network comes from.
        licence: the licence of the source.

    Attributes:
        name: the first part of the spec.
        titles: the text of each node as it was given, by rank.
        positions: the coordinates of the nodes by rank, float ``[nodes, 2]``, or None.
        capacity_unit: the capacity in the source of a link with the capacity 1.
        sha256: the SHA-256 of labels, switches, links, capacities and latencies.
        source: where the network comes from, or an empty string.
        licence: the licence of the source, or an empty string.

    Raises:
        InputError: a link joins a node to itself, a node has too many links, the graph is empty or
            not connected, fewer than two nodes are no switches, or given labels, ports, capacities
            or latencies are not valid.
    """

    family = "network"
    k = None
    titles: tuple[str, ...]
    positions: NDArray[np.float64] | None
    capacity_unit: float
    name: str
    source: str
    licence: str
    sha256: str

    def __init__(
        self,
        name: str,
        titles: Sequence[str],
        links: ArrayLike,
        *,
        labels: Sequence[str] | None = None,
        ports: ArrayLike | None = None,
        positions: ArrayLike | None = None,
        switches: Collection[int] = (),
        capacities: Sequence[int] | None = None,
        latencies: Sequence[int] | None = None,
        capacity_unit: float = 1.0,
        source: str = "",
        licence: str = "",
    ) -> None:
        self.name, self.source, self.licence = name, source, licence
        self.capacity_unit = capacity_unit
        switches = {*switches}
        titles = [_UNPRINTABLE.sub("\ufffd", title) for title in titles]
        labels = _as_labels(titles) if labels is None else _check_labels(labels, titles)
        order = sorted(
            range(len(labels)), key=lambda node: (node in switches, *_sort_key(labels[node]))
        )
        self.titles = tuple(titles[node] for node in order)
        self.positions = None if positions is None else freeze(np.array(positions, float)[order])
        self._labels = freeze(np.array([labels[node] for node in order], dtype=np.str_))
        self.n = self.nodes = len(order)
        self._endpoints = self.nodes - len(switches)
        if switches and self._endpoints < 2:
            but = " but one" if self._endpoints else ""
            raise InputError(
                f"every node of '{name}'{but} is a switch",
                hint="a network needs at least two endpoints, which send and receive",
            )
        ranks = np.argsort(order)
        given = np.sort(ranks[np.asarray(links, dtype=np.int64).reshape(-1, 2)], axis=1)
        for rank in given[given[:, 0] == given[:, 1], 0][:1]:
            raise InputError(_LOOP % self.titles[rank], hint="remove the link")
        pairs, first = np.unique(given, axis=0, return_index=True)
        self._check_degrees(pairs)
        colours = None if ports is None else np.asarray(ports)[first]
        self.ports, self._table = _number_ports(self.nodes, pairs, colours)
        arcs = np.concatenate([pairs, pairs[:, ::-1]])
        arcs = arcs[np.lexsort(arcs.T[::-1])]
        self._ends = freeze(arcs[:, 1])
        self._offsets = freeze(np.searchsorted(arcs[:, 0], np.arange(self.nodes)))
        self._check_connected()
        content: dict[str, Any] = {"labels": self._labels.tolist(), "links": pairs.tolist()}
        if switches:
            content["endpoints"] = self._endpoints
        for key, values in (
            ("capacities", _check_capacities(capacities)),
            ("latencies", _check_latencies(latencies)),
        ):
            if values is None:
                continue
            if len(values) != len(given):
                raise InputError(
                    f"'{name}' has {len(values):,} {key} for {len(given):,} links",
                    hint="give one number for each link",
                )
            content[key] = [values[index] for index in first.tolist()]
            setattr(self, key, self._by_port(pairs, content[key]))
        self.sha256 = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        self.spec = f"{name}-{self.sha256[:6]}"

    def _by_port(self, pairs: NDArray[np.int64], values: Sequence[int]) -> NDArray[np.int64]:
        """Return values of links as an array ``[ports, nodes]``, with 0 where there is no link."""
        first, second = pairs.T
        rows = (self._table[:, first] == second).argmax(axis=0)
        out = np.zeros(self._table.shape, dtype=np.int64)
        out[rows, first] = out[rows, second] = values
        return freeze(out)

    @property
    def endpoints(self) -> int:
        """The number of nodes that are no switches; see `Topology.endpoints`."""
        return self._endpoints

    def _check_degrees(self, pairs: NDArray[np.int64]) -> None:
        if not len(pairs):
            raise InputError("the network has no links", hint="give at least one link")
        degrees = np.bincount(pairs.ravel(), minlength=self.nodes)
        node = int(degrees.argmax())
        if degrees[node] > MAX_DEGREE:
            raise InputError(
                f"the node '{self.titles[node]}' has {degrees[node]:,} links",
                hint=f"a node can have at most {MAX_DEGREE}",
            )
        needed = _LINK_BYTES * len(pairs) + _PORT_BYTES * self.nodes * (int(degrees[node]) + 1)
        memory.require(needed, f"the ports of {len(pairs):,} links", "give a smaller network")

    def _check_connected(self) -> None:
        unreached = np.flatnonzero(self._search(0) < 0)
        if len(unreached):
            first, other = self.titles[0], self.titles[unreached[0]]
            raise InputError(
                f"the network is not connected: it has {self._count_parts():,} parts, and no path"
                f" from '{first}' to '{other}'",
                hint="give a network in which every node can reach every other node",
            )

    def _count_parts(self) -> int:
        # One search for each part would take too long if there are many.
        lowest = np.arange(self.nodes)
        starts = np.repeat(lowest, self.degrees)
        while (lowest[starts] != lowest[self._ends]).any():
            np.minimum.at(lowest, starts, lowest[self._ends])
            lowest = lowest[lowest]
        return len(np.unique(lowest))

    @property
    def diameter(self) -> int:
        """The largest distance between two endpoints.

        Raises:
            LimitError: too many searches are needed.
        """
        largest, is_exact = self._diameter
        if not is_exact:
            raise LimitError(
                f"the diameter of {self.spec} is not known: it is at least {largest}",
                hint="ask for the distances from single nodes",
            )
        return largest

    @cached_property
    def _diameter(self) -> tuple[int, bool]:
        """A lower bound by iFUB (Crescenzi et al. 2013), and whether it is the diameter."""
        middle = self._find_middle()
        levels = self._search(middle)[: self.endpoints]
        largest = 0 if middle >= self.endpoints else int(levels.max())
        searches = 0
        most = min(MAX_SEARCHES, max(1, _MAX_FOLLOWED // len(self._ends)))
        for level in range(int(levels.max()), 0, -1):
            # Two nodes that are both closer than this level have a distance of at most this.
            if largest >= 2 * level:
                break
            for node in np.flatnonzero(levels == level).tolist():
                searches += 1
                if searches > most:
                    return largest, False
                largest = max(largest, int(self._search(node)[: self.endpoints].max()))
        return largest, True

    def _find_middle(self) -> int:
        """Return a node in the middle of a long shortest path, from which iFUB starts."""
        first = int(self._search(int(self.degrees.argmax())).argmax())
        from_first = self._search(first)
        last = int(from_first.argmax())
        on_path = from_first + self._search(last) == from_first[last]
        return int(np.flatnonzero(on_path & (from_first == from_first[last] // 2))[0])

    def port_links(self) -> NDArray[np.int32]:
        """Return the links with their ports, int32 ``[links, 3]``: lower rank, higher rank, port.

        They are sorted.
        """
        ports, lower = np.nonzero(self._table > np.arange(self.nodes))
        rows = np.stack([lower, self._table[ports, lower], np.array(self.ports)[ports]], axis=1)
        return rows[np.lexsort(rows.T[::-1])].astype(np.int32)

    def as_json(self) -> dict[str, Any]:
        """Return the network as JSON values, of which `restore_network` makes an equal one."""
        return {
            "name": self.name,
            "sha256": self.sha256,
            "labels": self._labels.tolist(),
            "titles": list(self.titles),
            "links": self.port_links().tolist(),
            "positions": [] if self.positions is None else self.positions.tolist(),
            "endpoints": self.endpoints,
            "capacities": self._in_order(self.capacities),
            "latencies": self._in_order(self.latencies),
            "capacity_unit": self.capacity_unit,
            "source": self.source,
            "licence": self.licence,
        }

    def _in_order(self, values: NDArray[np.int64] | None) -> list[int]:
        """Return values of links in the order of `port_links`, or nothing."""
        if values is None:
            return []
        lower, _, ports = self.port_links().T
        return list(values[ports - 1, lower].tolist())

    def distance_profile(self) -> tuple[int, ...]:
        """Return the number of ordered pairs of endpoints at each distance.

        Raises:
            LimitError: the network has more than `MAX_PROFILE_NODES` nodes.
        """
        if self.nodes > MAX_PROFILE_NODES:
            raise LimitError(
                f"{self.spec} has {self.nodes:,} nodes, too many for the distances of all pairs",
                hint="ask for the distances from single nodes",
            )
        counts = np.zeros(self.nodes, dtype=np.int64)
        for root in range(self.endpoints):
            found = np.bincount(self._search(root)[: self.endpoints])
            counts[: len(found)] += found
        return tuple(np.trim_zeros(counts, "b").tolist())

    def reverse_port(self, port: int) -> int:
        """Return the port itself, because the two ends of a link use the same port."""
        return self._check_port(port)

    def neighbours(self, port: int, ranks: ArrayLike | None = None) -> Ranks:
        """Return the neighbours across a port; see `Topology.neighbours`."""
        row = self._table[self._check_port(port) - 1]
        return np.array(row if ranks is None else row[self._check_ranks(ranks)], dtype=np.int32)

    def distances(self, root: int | str = 0) -> Integers:
        """Return the distance of every node from the root; see `Topology.distances`."""
        distances = self._search(self.node(root))
        return distances if distances.max() > MAX_UINT8_DISTANCE else distances.astype(np.uint8)

    def _search(self, root: int) -> NDArray[np.int32]:
        """Return the distances from a node, and -1 for nodes that it does not reach."""
        distances = np.full(self.nodes, -1, dtype=np.int32)
        last = np.empty(self.nodes, dtype=np.int32)
        frontier, distance = np.array([root]), 0
        while len(frontier):
            distances[frontier] = distance
            # The neighbours of node v are in the slice offsets[v]:offsets[v + 1] of the array.
            starts, counts = self._offsets[frontier], self.degrees[frontier]
            shifts = np.repeat(starts - np.cumsum(counts) + counts, counts)
            ends = self._ends[shifts + np.arange(len(shifts))]
            ends = ends[distances[ends] < 0]
            # Each node is kept where it is listed last, which is faster than sorting.
            places = np.arange(len(ends), dtype=np.int32)
            last[ends] = places
            frontier = ends[last[ends] == places]
            distance += 1
        return distances

    def labels(self, ranks: ArrayLike | None = None) -> NDArray[np.str_]:
        """Return the labels of nodes; see `Topology.labels`."""
        return self._labels[slice(None) if ranks is None else self._check_ranks(ranks)]

    def rank(self, label: str) -> int:
        """Return the rank of the node with a label, whose case may differ if only one node fits.

        Raises:
            InputError: no node has this label, or several do.
        """
        for found in (
            np.flatnonzero(self._labels == label),
            np.flatnonzero(np.char.lower(self._labels) == str(label).lower()),
        ):
            if len(found) == 1:
                return int(found[0])
        labels = self._labels[found if len(found) else slice(None)].tolist()
        raise InputError(
            f"'{label}' is not a node of {self.spec}",
            hint=f"{did_you_mean(str(label), labels)}its labels are {', '.join(labels[:3])}, ...",
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.family == Network.family:
            remember(self)


class LinkList(NamedTuple):
    """The nodes and links of a graph, before they are checked.

    Attributes:
        nodes: the id of each node.
        pairs: the ends of each link as indices of ``nodes``.
        is_directed: whether every link has to be listed in both directions.
        attributes: the attributes of each node, or nothing.
        lines: the line of each link in a file, or nothing.
        link_attributes: the attributes of each link, or nothing.
    """

    nodes: Sequence[str]
    pairs: Sequence[tuple[int, int]]
    is_directed: bool = False
    attributes: Sequence[Mapping[str, Any]] = ()
    lines: Sequence[int] = ()
    link_attributes: Sequence[Mapping[str, Any]] = ()
    #: The capacity in the source of a link of capacity 1, if the capacities are not to be scaled.
    capacity_unit: Any = None


def build_network(
    graph: Any,
    name: str = "network",
    source: str = "",
    reporter: Reporter | None = None,
    *,
    capacities: Sequence[float] | None = None,
    latencies: Sequence[int] | None = None,
    switches: Collection[Any] | None = None,
    weights: Weights | None = None,
) -> Network:
    """Make a topology of a connected graph, by the rules of `starcast.network`.

    Args:
        graph: a `LinkList`, or a graph as in `starcast.network`, but no file.
        name: the first part of the spec.
        source: where the network comes from.
        reporter: receives a message if parallel links are merged or capacities are scaled (default:
            a `NetworkWarning`).
        capacities: the capacity of each link (default: its attribute).
        latencies: the latency of each link (default: its attribute).
        switches: the nodes that only forward (default: those with the attribute ``switch``).
        weights: what the attribute ``weight`` is read as (default: it is not read).

    Returns:
        The network, which is then known in this process.

    Raises:
        InputError: the graph is empty, not connected or directed, or has a link from a node to
            itself; a node has more than 253 links; or the name is malformed.
    """
    _check_name(name)
    links = graph if isinstance(graph, LinkList) else read_graph(graph)
    listed = _check_links(links)
    both_ways = _are_both_ways(listed)
    titles, labels = _choose_labels(links)
    widths, has_rates = _read_numbers(links, "capacity", capacities, weights)
    latency_of, has_times = _read_numbers(links, "latency", latencies, weights)
    pairs, given, delays = _merge(links, listed, both_ways, widths, latency_of)
    keeps_whole = capacities is not None or links.capacity_unit is not None
    unit = _capacity_unit(given, keep_whole=keeps_whole)
    # Nanoseconds and picoseconds are taken as units only if microseconds are not whole numbers.
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
        report(f"a capacity of 1 in {network.spec} is {shown}", reporter)
    if scale != 1:
        noun = _TIME_UNITS[scale]
        message = f"the latencies of {network.spec} are in {noun}: give T_s and T_c in {noun} too"
        report(message, reporter)
    return remember(network)


def report(message: str, reporter: Reporter | None) -> None:
    """Pass a message about a network to a reporter, or else warn."""
    if reporter is None:
        warnings.warn(clean_message(message), NetworkWarning, stacklevel=2)
    else:
        reporter.say(clean_message(message))


def network_of_family(spec: str, family: str, links: Any, letters: str = "") -> Network:
    """Make the topology of a spec of a family from the links that the family's function returns.

    Nodes whose labels begin with one of the ``letters`` are switches.

    Raises:
        InputError: see `network`.
    """
    given = read_graph(links)
    _check_links(given)
    switches = [number for number, node in enumerate(given.nodes) if node[:1] in {*letters}]
    made = Network(family, given.nodes, given.pairs, switches=switches)
    made.spec, made.family = spec, family
    return made


def remember(network: Network) -> Network:
    """Make a network known by its spec, and return it, or the equal one that was known before.

    Raises:
        InputError: another network with this spec is known, or the same one with other ports.
    """
    known = _known.setdefault(network.spec, network)
    if known is network:
        return network
    if known.sha256 != network.sha256:
        raise InputError(
            f"another network has the spec '{network.spec}'", hint="give it another name"
        )
    # Another version of starcast may have coloured the links differently.
    if not np.array_equal(known.table(), network.table()):
        raise InputError(
            f"the network '{network.spec}' is known with other ports",
            hint="use one of the two in another process",
        )
    # The spec does not tell titles, positions and source; the last ones given are kept.
    if _presentation(known) != _presentation(network):
        _known[network.spec] = network
    return _known[network.spec]


def _presentation(network: Network) -> tuple[Any, ...]:
    """Return the values on which neither the spec nor the SHA-256 depends."""
    positions = None if network.positions is None else network.positions.tobytes()
    return network.titles, positions, network.capacity_unit, network.source, network.licence


def restore_network(stored: Mapping[str, Any]) -> Network:
    """Return the network that `Network.as_json` described, with its ports, and make it known.

    Raises:
        InputError: the values are not those of a network, or another network with its spec is
            known.
        RejectedError: the SHA-256 is that of another network.
    """
    _check_name(stored["name"])
    links = np.asarray(stored["links"], dtype=np.int64).reshape(-1, 3)
    nodes = len(stored["labels"])
    if len(links) and not 0 <= links[:, :2].min() <= links[:, :2].max() < nodes:
        raise InputError(
            f"a link of the network '{stored['name']}' joins a node that it does not have",
            hint="ask for the file again",
        )
    network = Network(
        stored["name"],
        stored["titles"],
        links[:, :2],
        labels=stored["labels"],
        ports=links[:, 2],
        positions=_check_positions(stored["positions"], nodes),
        switches=range(stored["endpoints"] or nodes, nodes),
        capacities=stored["capacities"] or None,
        latencies=stored["latencies"] or None,
        capacity_unit=stored["capacity_unit"],
        source=stored["source"],
        licence=stored["licence"],
    )
    if network.sha256 != stored["sha256"]:
        raise RejectedError(
            f"the network '{stored['name']}' does not have the SHA-256 {stored['sha256']}",
            hint="it was changed after it was stored; add the network again",
        )
    return remember(network)


def _check_positions(positions: Sequence[Sequence[float]], nodes: int) -> ArrayLike | None:
    """Return positions that a network was stored with, or None if there are none."""
    if not positions:
        return None
    if len(positions) != nodes or {len(position) for position in positions} != {2}:
        raise InputError(
            "the positions of the network are not two numbers for each node",
            hint="ask for the file again",
        )
    return positions


def find_network(spec: str) -> Network | None:
    """Return the known network with a spec, or None."""
    return _known.get(spec)


def is_network_spec(text: str) -> bool:
    """Return whether a string has the form of a network's spec, such as ``mine-3fa2c1``."""
    return _SPEC.fullmatch(text) is not None


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise InputError(
            f"the name '{name}' of the network is malformed",
            hint="give at most 43 letters, digits, '_' and '.', the first a letter or a digit",
        )


def read_graph(graph: Any) -> LinkList:
    """Return the nodes and links of a graph of another library."""
    directed, attributes, values, unit = False, list[Any](), list[Any](), None
    ends: list[Any] | None = None
    if hasattr(graph, "get_edgelist"):  # igraph
        nodes = graph.vs["name"] if "name" in graph.vs.attributes() else range(graph.vcount())
        pairs, directed = graph.get_edgelist(), graph.is_directed()
        attributes = [vertex.attributes() for vertex in graph.vs]
        values = [edge.attributes() for edge in graph.es]
        unit = graph["capacity_unit"] if "capacity_unit" in graph.attributes() else None
    elif hasattr(graph, "edge_list"):  # rustworkx
        nodes = graph.nodes()
        numbers = {index: number for number, index in enumerate(graph.node_indices())}
        pairs = [(numbers[u], numbers[v]) for u, v in graph.edge_list()]
        directed = not hasattr(graph, "to_directed")
        values = [edge if isinstance(edge, Mapping) else {} for edge in graph.edges()]
    elif hasattr(graph, "edges") and hasattr(graph, "is_directed"):  # NetworkX
        nodes, directed = list(graph.nodes), graph.is_directed()
        attributes = [graph.nodes[node] for node in nodes]
        unit = graph.graph.get("capacity_unit")
        edges = list(graph.edges(data=True))
        ends, values = [(u, v) for u, v, _ in edges], [data for *_, data in edges]
    elif hasattr(graph, "tocoo"):  # SciPy
        matrix = graph.tocoo()
        if matrix.shape[0] != matrix.shape[1]:
            raise InputError("the matrix is not square", hint="give an adjacency matrix")
        nodes, directed = range(matrix.shape[0]), True
        pairs = list(zip(matrix.row.tolist(), matrix.col.tolist(), strict=True))
    else:
        links = graph.tolist() if hasattr(graph, "tolist") else graph
        ends = [(_as_title(u), _as_title(v)) for u, v in map(_as_link, links)]
        nodes = list(dict.fromkeys(chain.from_iterable(ends)))
    titles = [_as_title(node) for node in nodes]
    if len({*titles}) < len(titles):
        repeated = next(title for title in titles if titles.count(title) > 1)
        raise InputError(f"two nodes are named '{repeated}'", hint="rename one of them")
    if ends is not None:
        numbers = {node: number for number, node in enumerate(nodes)}
        pairs = [(numbers[u], numbers[v]) for u, v in ends]
    if any(values):
        values = [{str(key).lower(): value for key, value in each.items()} for each in values]
    return LinkList(titles, pairs, directed, attributes, (), values, unit)


def _check_links(links: LinkList) -> NDArray[np.int64]:
    """Return the pairs of nodes as an array, ``[links, 2]``.

    Raises:
        InputError: a link is a loop, or a directed link has no reverse. The message names its line.
    """
    pairs = np.array(links.pairs, dtype=np.int64).reshape(-1, 2)
    is_wrong = pairs[:, 0] == pairs[:, 1]
    if links.is_directed:
        is_wrong |= ~np.isin(_number_pairs(pairs), _number_pairs(pairs[:, ::-1]))
    for number in np.flatnonzero(is_wrong)[:1]:
        u, v = (links.nodes[end] for end in pairs[number])
        line = f"line {links.lines[number]}: " if links.lines else ""
        if u == v:
            raise InputError(f"{line}{_LOOP % u}", hint="remove the link")
        raise InputError(
            f"{line}the link from '{u}' to '{v}' has no reverse",
            hint="give an undirected graph, because the links of a topology lead both ways",
        )
    return pairs


def _number_pairs(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a different number for each pair of nodes."""
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
    """Return each link once, with the sum of the capacities and the latency of those listed.

    Raises:
        InputError: the two directions of a link have other capacities, or links that are listed
            several times other latencies.
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
                f"{_at(links, number)}has another latency than before",
                hint="give parallel links, and both directions of a link, the same latency",
            )
    for (u, v), capacity in sums.items() if both_ways else ():
        if sums[v, u] != capacity:
            raise InputError(
                f"the link from '{links.nodes[u]}' to '{links.nodes[v]}' has another capacity than"
                " its reverse",
                hint="give both directions of a link the same capacity",
            )
    pairs = list(latency_of)
    return pairs, [sums[pair] for pair in pairs], list(latency_of.values())


def find_attribute(links: LinkList, name: str, weights: Weights | None = None) -> str | None:
    """Return the attribute of links that holds their capacities or latencies, or None.

    Args:
        links: nodes and links, with lower-case names of attributes.
        name: ``capacity`` or ``latency``.
        weights: which of the two the attribute ``weight`` holds.
    """
    names = (*(["weight"] if weights == name else []), *_ATTRIBUTES[name])
    found = (each for each in names if any(each in values for values in links.link_attributes))
    return next(found, None)


#: A number, short enough for an exact fraction, and its unit.
_QUANTITY = re.compile(r"([+-]?[0-9]{0,40}\.?[0-9]{0,40}(?:[eE][+-]?[0-9]{1,2})?)\s*([A-Za-z/µ]*)")
_MAX_NUMBER = 10**40
#: Units of capacities in bits per second, and of latencies in microseconds.
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


#: Units of latencies, by their number in a microsecond.
_TIME_UNITS = {1: "microseconds", 1000: "nanoseconds", 10**6: "picoseconds"}


def read_quantity(value: Any, name: str = "") -> tuple[Fraction, bool]:
    """Return a number such as 4, 0.25 or 100Gbps, and whether it has a unit.

    Args:
        value: a number, or a string.
        name: ``capacity`` for numbers that may have a unit such as Gbps or GB/s, which are
            converted to bits per second; ``latency`` for us, ms and others, which are converted to
            microseconds.

    Raises:
        ValueError: the value is not a number, or its unit is unknown.
    """
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        if not -_MAX_NUMBER < value < _MAX_NUMBER:
            raise ValueError("the number is too large")
        return Fraction(value), False
    match = _QUANTITY.fullmatch(str(value).strip())
    units = {"": Fraction(1), **_UNITS.get(name, {})}
    if match is None or match[2] not in units:
        raise ValueError(value)
    return Fraction(match[1]) * units[match[2]], bool(match[2])


def _read_capacity_unit(given: Any) -> Fraction:
    try:
        unit = Fraction(1) if given is None else read_quantity(given)[0]
    except ValueError:
        unit = Fraction(0)
    if unit <= 0:
        raise InputError(
            f"the capacity_unit '{str(given)[:40]}' is not a positive number", hint="remove it"
        )
    return unit


def _read_numbers(
    links: LinkList, name: str, values: Sequence[Any] | None, weights: Weights | None
) -> tuple[list[Amount] | None, bool]:
    """Return the capacity or latency of each link, or None, and whether the source has units.

    Args:
        links: the links.
        name: ``capacity`` or ``latency``.
        values: the numbers, if they are given; by default those of the attribute.
        weights: see `find_attribute`.

    Raises:
        InputError: a value is missing or not a number, or not all have a unit.
    """
    if values is None:
        attribute = find_attribute(links, name, weights)
        if attribute is None:
            return None, False
        values = [each.get(attribute) for each in links.link_attributes]
    if len(values) != len(links.pairs):
        raise InputError(
            f"{len(values):,} values are given for {len(links.pairs):,} links",
            hint="give one number for each link, in the order of the links",
        )
    numbers: list[Amount] = []
    have_units = list[bool]()
    for number, value in enumerate(values):
        try:
            quantity, has_unit = read_quantity(value, name)
        except ValueError:
            given = f"no {name}"
            if value not in (None, ""):
                given = f"the {name} '{str(value)[:40]}', which is not a number"
            raise InputError(
                f"{_at(links, number)}has {given}", hint="give every link a number, or none"
            ) from None
        if quantity < 0 or (name == "capacity" and not quantity):
            raise InputError(
                f"{_at(links, number)}has the {name} {value}",
                hint="give positive capacities, and latencies of 0 or more",
            )
        numbers.append(quantity)
        have_units.append(has_unit)
    if any(have_units) != all(have_units):
        without = _at(links, have_units.index(False))
        raise InputError(
            f"{without}has a {name} without a unit", hint="give every link a unit, or none"
        )
    return numbers, any(have_units)


def _at(links: LinkList, number: int) -> str:
    """Return the beginning of a message about a link."""
    u, v = links.pairs[number]
    line = f"line {links.lines[number]}: " if links.lines else ""
    return f"{line}the link from '{links.nodes[u]}' to '{links.nodes[v]}' "


def _capacity_unit(capacities: Sequence[Amount], *, keep_whole: bool) -> Fraction:
    """Return the largest number of which all capacities are multiples."""
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
                f"the latency {float(latency):g} is not a whole number",
                hint="give latencies in a smaller unit, the unit of the time for a start-up",
            )
    return [int(latency) for latency in latencies]


def _find_switches(links: LinkList) -> list[int]:
    """Return the numbers of the nodes whose attribute ``switch`` is true."""
    values = [str(node.get("switch", "")).lower() for node in links.attributes]
    return [number for number, value in enumerate(values) if value in ("true", "1", "yes")]


def _as_nodes(numbers: Mapping[str, int], switches: Collection[Any]) -> list[int]:
    for switch in switches:
        if _as_title(switch) not in numbers:
            raise InputError(
                f"the switch '{switch}' is not a node", hint="name nodes that have links"
            )
    return [numbers[_as_title(switch)] for switch in switches]


def _check_capacities(capacities: Sequence[int] | None) -> Sequence[int] | None:
    """Return capacities, or None if all are 1.

    Raises:
        InputError: a capacity is not a whole number from 1, or they have no small common multiple.
    """
    if capacities is None or {*capacities} == {1}:
        return None
    if min(capacities) < 1:
        raise InputError(
            f"the capacity {min(capacities)} is not positive",
            hint="give positive capacities, or remove the link",
        )
    if lcm(*{*capacities}) > MAX_COMMON_CAPACITY:
        raise InputError(
            f"the capacities from {min(capacities):,} to {max(capacities):,} have no common"
            f" multiple up to {MAX_COMMON_CAPACITY:,}",
            hint="round the capacities, because exact times contain this multiple",
        )
    return capacities


def _check_latencies(latencies: Sequence[int] | None) -> Sequence[int] | None:
    """Return latencies, or None if all are 0.

    Raises:
        InputError: a latency is negative or too large.
    """
    if latencies is None or not any(latencies):
        return None
    if not 0 <= min(latencies) <= max(latencies) <= MAX_LATENCY:
        outside = min(latencies) if min(latencies) < 0 else max(latencies)
        raise InputError(
            f"the latency {outside:,} is not from 0 to {MAX_LATENCY:,}",
            hint="give latencies in the unit of the time for a start-up",
        )
    return latencies


def _choose_labels(links: LinkList) -> tuple[Sequence[str], Sequence[str]]:
    """Return titles and labels of the nodes: an attribute or the ids; see `starcast.network`."""
    given = [texts for key in _TEXTS if (texts := _find_texts(links.attributes, key))]
    for texts in given:
        if len(set(texts)) == len(texts):
            labels = _as_labels(texts)
            # The text explains labels in which characters were replaced better than the id does.
            return (links.nodes if labels == texts else texts), labels
    return given[0] if given else links.nodes, _as_labels(links.nodes)


def _find_texts(attributes: Sequence[Mapping[str, Any]], key: str) -> list[str] | None:
    """Return an attribute of all nodes as text, or None if a node does not have it."""
    values = [node.get(key) for node in attributes]
    texts = ["" if value is None else str(value) for value in values]
    return texts if all(texts) else None


def _find_positions(attributes: Sequence[Mapping[str, Any]]) -> NDArray[np.float64] | None:
    """Return the positions of all nodes, or None if a node has none."""
    lowered = [{str(key).lower(): value for key, value in node.items()} for node in attributes]
    columns = [[[node.get(x), node.get(y)] for node in lowered] for x, y in _COORDINATES]
    for column in [*columns, [node.get("pos") for node in lowered]]:
        try:
            positions = np.array(column, dtype=np.float64)
        except (TypeError, ValueError):  # texts, missing values, or lists of different lengths
            continue
        if positions.ndim == 2 and positions.shape[1] == 2 and np.isfinite(positions).all():
            return positions
    return None


def _as_title(node: Any) -> str:
    """Return a node as text; the nodes of grids are tuples, such as (0, 1), whose text is 0,1."""
    return ",".join(map(str, node)) if isinstance(node, tuple) else str(node)


def _as_link(link: Any) -> tuple[Any, Any]:
    try:
        first, second = link
    except (TypeError, ValueError):
        raise InputError(
            f"{link!r} is not a link", hint="give pairs of labels, such as ('a', 'b')"
        ) from None
    return first, second


def _as_labels(titles: Sequence[str]) -> list[str]:
    """Return a different label for each title, whatever the order of the titles is."""
    labels: dict[str, str] = {}
    taken = {EXPANDED}
    written = {title: _NOT_IN_LABELS.sub("_", title)[:_LONGEST_LABEL] for title in titles}
    if EXPANDED not in written and all(map(eq, written, written.values())):
        return list(titles)
    # A title that is a valid label keeps it; the others follow in the order of their code points.
    for title in sorted(titles, key=lambda title: (written[title] != title, title)):
        label, number = written[title] or "_", 1
        while label in taken:
            number += 1
            suffix = f".{number}"
            label = written[title][: _LONGEST_LABEL - len(suffix)] + suffix
        taken.add(label)
        labels[title] = label
    return [labels[title] for title in titles]


def _check_labels(labels: Sequence[str], titles: Sequence[str]) -> Sequence[str]:
    """Return labels that a network was stored with, after checking them.

    Raises:
        InputError: a label is malformed, two are equal, or a title has none.
    """
    are_labels = all(map(re.compile(LABEL).fullmatch, labels)) and EXPANDED not in labels
    if not are_labels or not len(set(labels)) == len(labels) == len(titles):
        raise InputError(
            "the labels of the network are malformed, or not one for each node",
            hint="ask for the file again",
        )
    return labels


def _sort_key(label: str) -> tuple[bool, int, str]:
    return not label.isdigit(), int(label) if label.isdigit() else 0, label


def _number_ports(
    nodes: int, pairs: NDArray[np.int64], ports: NDArray[Any] | None
) -> tuple[tuple[int, ...], NDArray[np.int32]]:
    """Return the ports of a network and its table of neighbours, int32 ``[ports, nodes]``.

    Raises:
        InputError: given ports are not numbered from 1, or two links of a node have the same.
    """
    given = colour_links(nodes, pairs.tolist()) if ports is None else ports
    colours, rows = np.unique(given, return_inverse=True)
    table = np.tile(np.arange(nodes, dtype=np.int32), (len(colours), 1))
    first, second = pairs.T
    table[rows, first], table[rows, second] = second, first
    if ports is not None and not (
        np.array_equal(colours, np.arange(1, len(colours) + 1))
        and len(colours) <= MAX_DEGREE + 1
        # Of two links at the same port of a node, one would have overwritten the other.
        and np.count_nonzero(table != np.arange(nodes)) == 2 * len(pairs)
    ):
        raise InputError(
            "the ports of the network are not numbered 1, 2, .., or a node has two links at a port",
            hint="ask for the file again",
        )
    return tuple(range(1, len(colours) + 1)), freeze(table)
