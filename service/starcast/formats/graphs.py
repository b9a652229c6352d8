"""Convert topologies and forests to objects of graph libraries and to files of graph tools.

The libraries are networkx, igraph and scipy. Each library is installed by an extra of the same
name, and is imported on demand. Nodes are ranks, with labels as attributes. In files, nodes are
numbered from 0 or, if the format requires it, from 1. For large topologies, the arrays of starcast
are faster than networkx, which creates Python objects for every edge.
"""

import json
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.support.errors import InputError
from starcast.support.installation import import_library
from starcast.topologies import Topology, memory
from starcast.trees import Forest
from starcast.trees.metrics import Edges, edges_of

if TYPE_CHECKING:
    import igraph
    import networkx as nx
    from scipy import sparse


class _Edges(NamedTuple):
    """Edges as columns of equal length: the ranks of the two ends, and attributes by name."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    attributes: dict[str, NDArray[np.int64]]


def to_networkx(artifact: Topology | Forest, tree: int | None = None) -> "nx.Graph":
    """Convert a topology to a `networkx.Graph`, a forest to a `networkx.DiGraph`.

    Nodes have the attribute ``label``, and switches the attribute ``switch``. An edge of a topology
    has the attribute ``port``, the port at the end with the lower rank. Unless all links have
    capacity 1, these edges have the attribute ``capacity``, and the graph has ``capacity_unit``.
    Unless all links have latency 0, these edges have the attribute ``latency``.

    An edge of a forest leads from parent to child. It has the attributes ``tree``, ``level`` (the
    child's distance from the root in the tree) and the parent's ``port``. Since trees may share
    links, a forest becomes a `networkx.MultiDiGraph`, a subclass of DiGraph. The key of an edge is
    the number of its tree. A single tree becomes a plain `networkx.DiGraph`. Nodes that are in no
    tree are omitted.

    Args:
        artifact: a topology or a forest.
        tree: the number of one tree, from 0; None for all trees.

    Raises:
        UnavailableError: networkx is not installed.
        InputError: the forest has no tree with this number, or ``tree`` is given for a topology.
        RejectedError: the array of the forest does not describe trees.

    Example:
        >>> to_networkx(forest("S4", "multiple"), tree=1).number_of_edges()
        23
    """
    nx = import_library("networkx")
    topology, edges = _topology_of(artifact), _edges(artifact, tree)
    if isinstance(artifact, Topology):
        graph, ranks = nx.Graph(), np.arange(topology.nodes)
    else:
        graph = nx.MultiDiGraph() if tree is None else nx.DiGraph()
        ranks = np.union1d(edges.end, [artifact.root])
    graph.graph.update(_graph_attributes(artifact))
    labels = topology.labels(ranks).tolist()
    graph.add_nodes_from(
        (rank, {"label": label} | ({"switch": True} if rank >= topology.endpoints else {}))
        for rank, label in zip(ranks.tolist(), labels, strict=True)
    )
    ends = edges.start.tolist(), edges.end.tolist()
    keys = [edges.attributes["tree"].tolist()] if graph.is_multigraph() else []
    columns = (column.tolist() for column in edges.attributes.values())
    attributes = [
        dict(zip(edges.attributes, row, strict=True)) for row in zip(*columns, strict=True)
    ]
    graph.add_edges_from(zip(*ends, *keys, attributes, strict=True))
    return graph


def to_igraph(artifact: Topology | Forest, tree: int | None = None) -> "igraph.Graph":
    """Convert a topology to an undirected `igraph.Graph`, a forest to a directed one.

    Every node becomes a vertex, whose index is the node's rank, with the attribute ``label`` and,
    if there are switches, ``switch``. Edges have the same attributes as in `to_networkx`. If trees
    share a link, the graph has parallel edges.

    Args:
        artifact: a topology or a forest.
        tree: the number of one tree, from 0; None for all trees.

    Raises:
        UnavailableError: igraph is not installed.
        InputError: the forest has no tree with this number, or ``tree`` is given for a topology.
        RejectedError: the array of the forest does not describe trees.
    """
    igraph = import_library("igraph")
    topology, edges = _topology_of(artifact), _edges(artifact, tree)
    switches = [rank >= topology.endpoints for rank in range(topology.nodes)]
    return igraph.Graph(
        n=topology.nodes,
        edges=np.column_stack([edges.start, edges.end]).tolist(),
        directed=isinstance(artifact, Forest),
        graph_attrs=_graph_attributes(artifact),
        vertex_attrs={"label": topology.labels().tolist()}
        | ({"switch": switches} if any(switches) else {}),
        edge_attrs={name: column.tolist() for name, column in edges.attributes.items()},
    )


def to_scipy(artifact: Topology | Forest, tree: int | None = None) -> "sparse.csr_array":
    """Convert a topology to its adjacency matrix, a forest to its load matrix.

    Args:
        artifact: a topology or a forest.
        tree: the number of one tree, from 0; None for all trees.

    Returns:
        `scipy.sparse.csr_array`, int16 ``[nodes, nodes]``. In the adjacency matrix, entry (u, v) is
        1 if u and v are linked. In the load matrix, entry (u, v) is the number of trees that use
        the directed link from parent u to child v.

    Raises:
        UnavailableError: scipy is not installed.
        InputError: the forest has no tree with this number, or ``tree`` is given for a topology.
        RejectedError: the array of the forest does not describe trees.
    """
    sparse = import_library("scipy.sparse")
    topology, edges = _topology_of(artifact), _edges(artifact, tree)
    # An entry can be 256, the largest number of trees, which does not fit into int8.
    ones = np.ones(len(edges.start), dtype=np.int16)
    shape = (topology.nodes, topology.nodes)
    # The conversion to CSR sums the entries with the same row and column.
    matrix = sparse.csr_array((ones, (edges.start, edges.end)), shape=shape)
    return matrix + matrix.T if isinstance(artifact, Topology) else matrix


def _topology_of(artifact: Topology | Forest) -> Topology:
    return artifact.topology if isinstance(artifact, Forest) else artifact


def _graph_attributes(artifact: Topology | Forest) -> dict[str, str | int | float]:
    if isinstance(artifact, Topology):
        return {"topology": artifact.spec} | _capacity_unit(artifact)
    return {"forest": artifact.id, "topology": artifact.topology.spec, "root": artifact.root}


def _capacity_unit(topology: Topology) -> dict[str, float]:
    """Return a dict with the graph attribute ``capacity_unit``.

    The capacity unit is the capacity in the network's file or graph that becomes capacity 1 in
    starcast. The dict is empty if all links have capacity 1.
    """
    return {} if topology.capacities is None else {"capacity_unit": topology.capacity_unit}


def _edges(artifact: Topology | Forest, tree: int | None) -> _Edges:
    if isinstance(artifact, Forest):
        edges = edges_of(artifact, tree)
        attributes = {"tree": edges.tree, "level": edges.level, "port": edges.port}
        return _Edges(edges.parent, edges.child, attributes)
    if tree is not None:
        raise InputError(
            f"{artifact.spec} is a topology and has no tree {tree}",
            hint="use a forest, or omit the tree",
        )
    return _links(artifact)


def _links(topology: Topology) -> _Edges:
    """Return each undirected link once, from the end with the lower rank to the other end."""
    values = {"capacity": topology.capacities, "latency": topology.latencies}
    given = {name: column for name, column in values.items() if column is not None}
    parts = []
    for row, port in enumerate(topology.ports):
        neighbours = topology.neighbours(port).astype(np.int64)
        lower = np.flatnonzero(np.arange(topology.nodes) < neighbours)
        own = (column[row, lower] for column in given.values())
        parts.append((lower, neighbours[lower], np.full(len(lower), port, dtype=np.int64), *own))
    start, end, *others = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _Edges(start, end, dict(zip(("port", *given), others, strict=True)))


def write_graphml(topology: Topology) -> Iterator[str]:
    """Yield the lines of a GraphML file with the topology; NetworkX generates them."""
    return _write_xml(topology, "generate_graphml")


def write_gexf(topology: Topology) -> Iterator[str]:
    """Yield the lines of a GEXF 1.2 file with the topology; NetworkX generates them."""
    return _write_xml(topology, "generate_gexf")


def _write_xml(topology: Topology, generator: str) -> Iterator[str]:
    networkx = import_library("networkx")
    # The graph is built before the first part is yielded, so that nothing is written if the graph
    # does not fit into memory.
    graph = to_networkx(topology)
    yield '<?xml version="1.0" encoding="utf-8"?>\n'
    for line in getattr(networkx, generator)(graph):
        yield f"{line}\n"


def write_topology_dot(topology: Topology) -> Iterator[str]:
    """Yield a topology as an undirected graph in DOT.

    An edge has the attribute ``port``, the port at the end with the lower rank. Edges have the
    attribute ``capacity`` unless all capacities are 1, and ``latency`` unless all latencies are 0.
    """
    # The edges are listed before the first part is yielded, so that nothing is written if they do
    # not fit into memory.
    edges = _links(topology)
    yield f"graph {_dot_quote(topology.spec)} {{\n"
    for name, value in _capacity_unit(topology).items():
        yield f'  {name}="{value}";\n'
    yield from _dot_nodes(topology, np.arange(topology.nodes))
    columns = (column.tolist() for column in (edges.start, edges.end, *edges.attributes.values()))
    for node, neighbour, *values in zip(*columns, strict=True):
        pairs = zip(edges.attributes, values, strict=True)
        attributes = ", ".join(f"{name}={value}" for name, value in pairs)
        yield f"  {node} -- {neighbour} [{attributes}];\n"
    yield "}\n"


def write_forest_dot(forest: Forest, tree: int | None = None) -> Iterator[str]:
    """Yield a forest as a directed graph in DOT, with edges from parents to children."""
    edges = edges_of(forest, tree)
    yield f"digraph {_dot_quote(forest.id)} {{\n"
    yield from _dot_nodes(forest.topology, np.union1d(edges.child, [forest.root]))
    columns = (edges.parent, edges.child, edges.tree, edges.level, edges.port)
    values = zip(*(column.tolist() for column in columns), strict=True)
    for parent, child, number, level, port in values:
        yield f"  {parent} -> {child} [tree={number}, level={level}, port={port}];\n"
    yield "}\n"


def _dot_nodes(topology: Topology, ranks: NDArray[np.int64]) -> Iterator[str]:
    labels = topology.labels(ranks).tolist()
    for rank, label in zip(ranks.tolist(), labels, strict=True):
        switch = ", switch=true, shape=box" if rank >= topology.endpoints else ""
        yield f"  {rank} [label={_dot_quote(label)}{switch}];\n"


def _dot_quote(text: str) -> str:
    """Return a string in quotes for DOT."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def write_metis(topology: Topology) -> Iterator[str]:
    """Yield a METIS graph file, in which the line of a node lists its neighbours, numbered from 1.

    Capacities are written as link weights, unless all capacities are 1.
    """
    rows = _neighbour_lists(topology, topology.capacities)
    # The first row is computed before the header is yielded, so that nothing is written if the
    # memory does not suffice.
    first = next(rows)
    yield f"% {topology.spec}\n"
    yield f"{topology.nodes} {topology.links}{'' if topology.capacities is None else ' 1'}\n"
    for row in chain([first], rows):
        yield " ".join([f"{rank + 1}{weight}" for rank, weight in row]) + "\n"


def write_anynet(topology: Topology) -> Iterator[str]:
    """Yield the lines of a file for BookSim's network ``anynet``, with one router per node.

    The router of an endpoint has one terminal. Unless all latencies are 0, each neighbour is
    followed by the latency of the link to that neighbour.
    """
    for rank, row in enumerate(_neighbour_lists(topology, topology.latencies)):
        terminal = f" node {rank}" if rank < topology.endpoints else ""
        neighbours = "".join(f" router {neighbour}{latency}" for neighbour, latency in row)
        yield f"router {rank}{terminal}{neighbours}\n"


def _neighbour_lists(
    topology: Topology, values: NDArray[np.int64] | None
) -> Iterator[list[tuple[int, str]]]:
    """Yield the neighbours of each node in ascending order, each with the value of its link.

    Args:
        topology: the topology with the links.
        values: the capacities or latencies of links ``[ports, nodes]``, or None to write no values.

    Yields:
        For each node, pairs of a neighbour and the text to append to it: " 3" for the value 3, or
        "" if ``values`` is None.
    """
    for chunk in topology.chunks():
        ranks = np.arange(chunk.start, chunk.stop)
        rows = np.stack([topology.neighbours(port, ranks) for port in topology.ports], axis=1)
        order = np.argsort(rows, axis=1)
        numbers = None if values is None else np.take_along_axis(values[:, chunk].T, order, axis=1)
        texts = np.char.mod(" %d", numbers) if numbers is not None else np.full(rows.shape, "")
        sorted_rows = np.take_along_axis(rows, order, axis=1)
        for rank, row, own in zip(
            ranks.tolist(), sorted_rows.tolist(), texts.tolist(), strict=True
        ):
            # A node without a link at a port is its own neighbour there.
            yield [(other, text) for other, text in zip(row, own, strict=True) if other != rank]


def write_graph6(topology: Topology) -> Iterator[bytes]:
    """Yield a graph6 line: the upper triangle of the adjacency matrix, six bits per byte.

    Raises:
        LimitError: the matrix does not fit into memory.
    """
    count = topology.nodes
    bits = count * (count - 1) // 2
    # Every pair of nodes takes one bit, linked or not, so even a sparse graph can need too much
    # memory. The factor 2 accounts for the copy that `tobytes` makes.
    memory.require(2 * (bits // 6), f"the adjacency matrix of {count:,} nodes as graph6")
    body = np.zeros(-(-bits // 6), dtype=np.uint8)
    ranks = np.arange(count, dtype=np.int64)
    for port in topology.ports:
        neighbours = topology.neighbours(port).astype(np.int64)
        lower = ranks < neighbours
        # The triangle is stored column by column: (0,1), (0,2), (1,2), (0,3), ...
        place = neighbours[lower] * (neighbours[lower] - 1) // 2 + ranks[lower]
        # `at` sets several bits of one byte; plain indexing would set only the last of them.
        np.bitwise_or.at(body, place // 6, (32 >> (place % 6)).astype(np.uint8))
    yield bytes(_graph6_size(count))
    body += np.uint8(63)
    yield body.tobytes()
    yield b"\n"


def _graph6_size(count: int) -> list[int]:
    """Encode a number of nodes for graph6, as the codes of 1, 4 or 8 characters."""
    if count <= 62:
        return [count + 63]
    digits, marks = (3, [126]) if count <= 258_047 else (6, [126, 126])
    return [*marks, *((count >> 6 * place & 63) + 63 for place in reversed(range(digits)))]


def write_newick(forest: Forest, tree: int | None = None) -> Iterator[str]:
    """Yield the parts of a Newick file: a line per tree, with labels and branches of length 1."""
    labels = forest.topology.labels().tolist()
    for children in _children_by_tree(forest, tree):
        for node, opens, is_first in _walk(children, forest.root):
            if opens:
                yield ("" if is_first else ",") + ("(" if node in children else "")
            else:
                # In Newick, an unquoted underscore stands for a blank.
                label = f"'{labels[node]}'" if "_" in labels[node] else labels[node]
                yield (")" if node in children else "") + label
                yield ":1" if node != forest.root else ";\n"


def write_json_trees(forest: Forest, tree: int | None = None) -> Iterator[str]:
    """Yield a JSON object whose ``trees`` are nested nodes with ``id``, ``label`` and ``children``.

    Each tree has the form that `networkx.tree_data` returns and D3's hierarchies read.
    """
    labels = forest.topology.labels().tolist()
    header = {"forest": forest.id, "topology": forest.topology.spec, "root": forest.root}
    trees = _children_by_tree(forest, tree)
    yield json.dumps(header)[:-1] + ', "trees": ['
    for number, children in enumerate(trees):
        yield ",\n" if number else "\n"
        for node, opens, is_first in _walk(children, forest.root):
            if opens:
                yield "" if is_first else ", "
                yield f'{{"id": {node}, "label": "{labels[node]}"'
                yield ', "children": [' if node in children else ""
            else:
                yield "]}" if node in children else "}"
    yield "\n]}\n"


def _children_by_tree(forest: Forest, tree: int | None) -> Iterator[dict[int, list[int]]]:
    """Return an iterator over the trees, each as a mapping from internal nodes to sorted children.

    The call itself, not the iteration, raises the error for an unknown tree number. Therefore no
    part of a file is written before the error.
    """
    edges = edges_of(forest, tree)
    numbers = range(forest.trees) if tree is None else [tree]
    return (_children(edges, number) for number in numbers)


def _children(edges: Edges, tree: int) -> dict[int, list[int]]:
    chosen = edges.tree == tree
    children: dict[int, list[int]] = {}
    ends = zip(edges.parent[chosen].tolist(), edges.child[chosen].tolist(), strict=True)
    for parent, child in ends:
        children.setdefault(parent, []).append(child)
    return children


def _walk(children: dict[int, list[int]], root: int) -> Iterator[tuple[int, bool, bool]]:
    """Traverse a tree depth-first, and yield each node on entry and on exit.

    Each item is a tuple of the node and two flags. The first flag is True on entry. The second flag
    is True for the root and for the first child of each node. The traversal does not use recursion,
    because the height of a tree may exceed Python's recursion limit.
    """
    stack = [(root, True, True)]
    while stack:
        node, opens, is_first = stack.pop()
        yield node, opens, is_first
        if opens:
            stack.append((node, False, is_first))
            below = children.get(node, ())
            items = [(child, True, place == 0) for place, child in enumerate(below)]
            stack.extend(reversed(items))
