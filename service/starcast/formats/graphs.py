"""Topologies and forests in formats of graph tools.

Nodes are ranks, from 0 unless a format counts from 1.
"""

import json
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from starcast.formats.convert import import_library, to_networkx
from starcast.topologies import Topology, memory
from starcast.trees import Forest
from starcast.trees.metrics import edges_of


def write_graphml(topology: Topology) -> Iterator[str]:
    """Yield GraphML, by NetworkX."""
    networkx = import_library("networkx")
    yield '<?xml version="1.0" encoding="utf-8"?>\n'
    for line in networkx.generate_graphml(to_networkx(topology)):
        yield f"{line}\n"


def write_gexf(topology: Topology) -> Iterator[str]:
    """Yield GEXF 1.2, by NetworkX."""
    networkx = import_library("networkx")
    yield '<?xml version="1.0" encoding="utf-8"?>\n'
    for line in networkx.generate_gexf(to_networkx(topology)):
        yield f"{line}\n"


def write_topology_dot(topology: Topology) -> Iterator[str]:
    """Yield an undirected graph in DOT; a link has the port of its lower node."""
    yield f"graph {_dot_quote(topology.spec)} {{\n"
    yield from _dot_nodes(topology, np.arange(topology.nodes))
    for port in topology.ports:
        neighbours = topology.neighbours(port)
        lower = np.flatnonzero(np.arange(topology.nodes) < neighbours)
        for node, neighbour in zip(lower.tolist(), neighbours[lower].tolist(), strict=True):
            yield f"  {node} -- {neighbour} [port={port}];\n"
    yield "}\n"


def write_forest_dot(forest: Forest, tree: int | None = None) -> Iterator[str]:
    """Yield a directed graph in DOT with an edge from parent to child for every edge of a tree."""
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
        yield f"  {rank} [label={_dot_quote(label)}];\n"


def _dot_quote(text: str) -> str:
    """Return a quoted string of DOT."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def write_metis(topology: Topology) -> Iterator[str]:
    """Yield a graph file of METIS: one line of neighbours per node, which are counted from 1."""
    yield f"% {topology.spec}\n"
    yield f"{topology.nodes} {topology.links}\n"
    for row in _neighbour_lists(topology):
        yield " ".join([str(rank + 1) for rank in row]) + "\n"


def write_anynet(topology: Topology) -> Iterator[str]:
    """Yield a network file of BookSim's ``anynet``: one router per node, with its terminal."""
    for rank, row in enumerate(_neighbour_lists(topology)):
        neighbours = "".join(f" router {neighbour}" for neighbour in row)
        yield f"router {rank} node {rank}{neighbours}\n"


def _neighbour_lists(topology: Topology) -> Iterator[list[int]]:
    for chunk in topology.chunks():
        ranks = np.arange(chunk.start, chunk.stop)
        rows = np.stack([topology.neighbours(port, ranks) for port in topology.ports], axis=1)
        yield from np.sort(rows, axis=1).tolist()


def write_graph6(topology: Topology) -> Iterator[bytes]:
    """Yield the graph6 line: the upper triangle of the adjacency matrix, six bits per byte.

    Raises:
        LimitError: the matrix does not fit into memory.
    """
    count = topology.nodes
    bits = count * (count - 1) // 2
    # The format is dense: its size grows with the square of the nodes, whatever the degree.
    memory.require(bits // 6, f"the adjacency matrix of {count:,} nodes as graph6")
    body = np.zeros(-(-bits // 6), dtype=np.uint8)
    ranks = np.arange(count, dtype=np.int64)
    for port in topology.ports:
        neighbours = topology.neighbours(port).astype(np.int64)
        lower = ranks < neighbours
        # Columns of the triangle follow each other: (0,1), (0,2), (1,2), (0,3), ...
        place = neighbours[lower] * (neighbours[lower] - 1) // 2 + ranks[lower]
        # `at`, because plain indexing would keep only one of several bits of a byte.
        np.bitwise_or.at(body, place // 6, (32 >> (place % 6)).astype(np.uint8))
    yield bytes(_graph6_size(count))
    yield (body + np.uint8(63)).tobytes()
    yield b"\n"


def _graph6_size(count: int) -> list[int]:
    """Return the number of nodes in 1, 4 or 8 characters."""
    if count <= 62:
        return [count + 63]
    digits, marks = (3, [126]) if count <= 258_047 else (6, [126, 126])
    return [*marks, *((count >> 6 * place & 63) + 63 for place in reversed(range(digits)))]


def write_newick(forest: Forest, tree: int | None = None) -> Iterator[str]:
    """Yield one line of Newick per tree; all nodes have their labels, all branches length 1."""
    labels = forest.topology.labels().tolist()
    for children in _children_by_tree(forest, tree):
        for node, opens, is_first in _walk(children, forest.root):
            if opens:
                yield ("" if is_first else ",") + ("(" if node in children else "")
            else:
                yield (")" if node in children else "") + labels[node]
                yield ":1" if node != forest.root else ";\n"


def write_json_trees(forest: Forest, tree: int | None = None) -> Iterator[str]:
    """Yield a JSON object whose ``trees`` are nested nodes: ``id``, ``label``, ``children``.

    Each tree has the form of `networkx.tree_data`, which the hierarchies of D3 share.
    """
    labels = forest.topology.labels().tolist()
    header = {"forest": forest.id, "topology": forest.topology.spec, "root": forest.root}
    yield json.dumps(header)[:-1] + ', "trees": ['
    for number, children in enumerate(_children_by_tree(forest, tree)):
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
    """Yield the children of the inner nodes of each tree, ascending."""
    edges = edges_of(forest, tree)
    for number in range(forest.trees) if tree is None else [tree]:
        chosen = edges.tree == number
        children: dict[int, list[int]] = {}
        ends = zip(edges.parent[chosen].tolist(), edges.child[chosen].tolist(), strict=True)
        for parent, child in ends:
            children.setdefault(parent, []).append(child)
        yield children


def _walk(children: dict[int, list[int]], root: int) -> Iterator[tuple[int, bool, bool]]:
    """Yield (node, True, is first child) when a node begins, (node, False, ...) when it ends.

    Trees may be as high as they have nodes, so recursion is not possible.
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
