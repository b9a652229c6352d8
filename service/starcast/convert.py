"""Topologies and forests as the objects of other libraries: networkx, igraph and scipy.sparse.

Each library is an optional extra of the same name and is imported when it is asked for. Nodes are ranks everywhere; labels are
an attribute. For work on whole topologies the arrays are faster: networkx makes an object of every edge.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.errors import InputError, UnavailableError
from starcast.topologies import Topology
from starcast.trees import Forest
from starcast.trees.edges import edges_of

if TYPE_CHECKING:
    import igraph
    import networkx as nx
    from scipy import sparse


class _Edges(NamedTuple):
    """Edges as columns of equal length, and their attributes by name."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    attributes: dict[str, NDArray[np.int64]]


def to_networkx(what: Topology | Forest, tree: int | None = None) -> "nx.Graph":
    """A topology as a `networkx.Graph`, a forest as a `networkx.DiGraph` from parents to children.

    Nodes have a ``label``. A link has the ``port`` of its lower node. A tree's edge has its ``tree``, its ``level`` (the
    child's distance from the root, from 1) and the parent's ``port``. Trees may share links, so that a whole forest is a
    `networkx.MultiDiGraph`, which is a DiGraph, with the tree as the edge's key; one tree is a plain `networkx.DiGraph`.
    Nodes that are in none of the trees are left out.

    Args:
        what: a topology or a forest.
        tree: the number of one tree, from 0; all unless given.

    Raises:
        UnavailableError: networkx is not installed.
        InputError: there is no such tree.
        RejectedError: the array is no forest.
    """
    nx = _library("networkx")
    topology, edges = _place(what), _edges(what, tree)
    if isinstance(what, Topology):
        graph, ranks = nx.Graph(), np.arange(topology.nodes)
    else:
        graph, ranks = (
            nx.MultiDiGraph() if tree is None else nx.DiGraph(),
            np.union1d(edges.end, [what.root]),
        )
    graph.graph.update(_names(what))
    labels = topology.labels(ranks).tolist()
    graph.add_nodes_from(
        (rank, {"label": label}) for rank, label in zip(ranks.tolist(), labels, strict=True)
    )
    ends = edges.start.tolist(), edges.end.tolist()
    keys = [edges.attributes["tree"].tolist()] if graph.is_multigraph() else []
    attributes = _records(edges.attributes)
    graph.add_edges_from(zip(*ends, *keys, attributes, strict=True))
    return graph


def to_igraph(what: Topology | Forest, tree: int | None = None) -> "igraph.Graph":
    """A topology as an undirected `igraph.Graph`, a forest as a directed one from parents to children.

    Vertex v is the node of rank v, all of them, with its ``label``; edges have the attributes of `to_networkx`. Trees that
    share a link are parallel edges; a node that is in none of the trees is an isolated vertex.

    Args:
        what: a topology or a forest.
        tree: the number of one tree, from 0; all unless given.

    Raises:
        UnavailableError: igraph is not installed.
        InputError: there is no such tree.
        RejectedError: the array is no forest.
    """
    igraph = _library("igraph")
    topology, edges = _place(what), _edges(what, tree)
    return igraph.Graph(
        n=topology.nodes,
        edges=np.column_stack([edges.start, edges.end]).tolist(),
        directed=isinstance(what, Forest),
        graph_attrs=_names(what),
        vertex_attrs={"label": topology.labels().tolist()},
        edge_attrs={name: column.tolist() for name, column in edges.attributes.items()},
    )


def to_scipy(what: Topology | Forest, tree: int | None = None) -> "sparse.csr_array":
    """A topology as its adjacency matrix, a forest as its load matrix: `scipy.sparse.csr_array`, int16 ``[nodes, nodes]``.

    At (u, v) the adjacency matrix has 1 where there is a link; the load matrix has the number of trees that use the directed
    link from u to v, parent to child.

    Args:
        what: a topology or a forest.
        tree: the number of one tree, from 0; all unless given.

    Raises:
        UnavailableError: scipy is not installed.
        InputError: there is no such tree.
        RejectedError: the array is no forest.
    """
    sparse = _library("scipy.sparse")
    topology, edges = _place(what), _edges(what, tree)
    ones = np.ones(len(edges.start), dtype=np.int16)
    matrix = sparse.csr_array(
        (ones, (edges.start, edges.end)), shape=(topology.nodes, topology.nodes)
    )  # adds up equal places
    return matrix + matrix.T if isinstance(what, Topology) else matrix


def _library(module: str) -> Any:
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise UnavailableError(
            f"{package} is not installed", hint=f"install it: pip install 'starcast[{package}]'"
        ) from None


def _place(what: Topology | Forest) -> Topology:
    return what.topology if isinstance(what, Forest) else what


def _names(what: Topology | Forest) -> dict[str, str | int]:
    if isinstance(what, Topology):
        return {"topology": what.spec}
    return {"forest": what.id, "topology": what.topology.spec, "root": what.root}


def _records(columns: dict[str, NDArray[np.int64]]) -> list[dict[str, int]]:
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _edges(what: Topology | Forest, tree: int | None) -> _Edges:
    if isinstance(what, Forest):
        found = edges_of(what, tree)
        return _Edges(
            found.parent,
            found.child,
            {"tree": found.tree, "level": found.level, "port": found.port},
        )
    if tree is not None:
        raise InputError(
            f"{what.spec} is a topology and has no tree {tree}",
            hint="give a forest, or leave the tree out",
        )
    return _links(what)


def _links(topology: Topology) -> _Edges:
    """Each undirected link once, from its lower rank."""
    parts = []
    for port in topology.ports:
        there = topology.neighbours(port).astype(np.int64)
        lower = np.flatnonzero(np.arange(topology.nodes) < there)
        parts.append((lower, there[lower], np.full(len(lower), port, dtype=np.int64)))
    start, end, ports = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _Edges(start, end, {"port": ports})
