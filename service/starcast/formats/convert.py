"""Conversion of topologies and forests to objects of networkx, igraph and scipy.sparse.

Each library is installed by an extra of the same name, and is imported on demand. Nodes are ranks,
with labels as attributes. For large topologies, working with arrays is faster, because networkx
creates Python objects for every edge.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.support.errors import InputError, UnavailableError
from starcast.topologies import Topology
from starcast.trees import Forest
from starcast.trees.metrics import edges_of

if TYPE_CHECKING:
    import igraph
    import networkx as nx
    from scipy import sparse


class _Edges(NamedTuple):
    """Edges as columns of equal length: two columns for the ends, and further columns by name."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    attributes: dict[str, NDArray[np.int64]]


def to_networkx(artifact: Topology | Forest, tree: int | None = None) -> "nx.Graph":
    """Convert a topology to a `networkx.Graph`, a forest to a `networkx.DiGraph`.

    Nodes have the attribute ``label``. A link has the ``port`` of its end with the lower rank. An
    edge of a forest leads from parent to child. Its attributes are its ``tree``, its ``level`` (the
    child's distance from the root in the tree) and the parent's ``port``. Since trees may share
    links, a forest becomes a `networkx.MultiDiGraph`, a subclass of DiGraph, in which the key of an
    edge is its tree. A single tree becomes a plain `networkx.DiGraph`. Nodes that are in no tree
    are omitted.

    Args:
        artifact: a topology or a forest.
        tree: the number of one tree, from 0; None for all trees.

    Raises:
        UnavailableError: networkx is not installed.
        InputError: there is no such tree.
        RejectedError: the array is not a forest.

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
        (rank, {"label": label}) for rank, label in zip(ranks.tolist(), labels, strict=True)
    )
    ends = edges.start.tolist(), edges.end.tolist()
    keys = [edges.attributes["tree"].tolist()] if graph.is_multigraph() else []
    attributes = _records(edges.attributes)
    graph.add_edges_from(zip(*ends, *keys, attributes, strict=True))
    return graph


def to_igraph(artifact: Topology | Forest, tree: int | None = None) -> "igraph.Graph":
    """Convert a topology to an undirected `igraph.Graph`, a forest to a directed one.

    Every node becomes a vertex, whose number is the node's rank and whose attribute is its
    ``label``. Edges have the same attributes as in `to_networkx`. If trees share a link, the graph
    has parallel edges.

    Args:
        artifact: a topology or a forest.
        tree: the number of one tree, from 0; None for all trees.

    Raises:
        UnavailableError: igraph is not installed.
        InputError: there is no such tree.
        RejectedError: the array is not a forest.
    """
    igraph = import_library("igraph")
    topology, edges = _topology_of(artifact), _edges(artifact, tree)
    return igraph.Graph(
        n=topology.nodes,
        edges=np.column_stack([edges.start, edges.end]).tolist(),
        directed=isinstance(artifact, Forest),
        graph_attrs=_graph_attributes(artifact),
        vertex_attrs={"label": topology.labels().tolist()},
        edge_attrs={name: column.tolist() for name, column in edges.attributes.items()},
    )


def to_scipy(artifact: Topology | Forest, tree: int | None = None) -> "sparse.csr_array":
    """Convert a topology to its adjacency matrix, a forest to its load matrix.

    Args:
        artifact: a topology or a forest.
        tree: the number of one tree, from 0; None for all trees.

    Returns:
        `scipy.sparse.csr_array`, int16 ``[nodes, nodes]``. In the adjacency matrix, entry (u, v) is
        1 if u and v are linked. In the load matrix, it is the number of trees that use the directed
        link from parent u to child v.

    Raises:
        UnavailableError: scipy is not installed.
        InputError: there is no such tree.
        RejectedError: the array is not a forest.
    """
    sparse = import_library("scipy.sparse")
    topology, edges = _topology_of(artifact), _edges(artifact, tree)
    # An entry can be 256, the largest number of trees, which does not fit into int8.
    ones = np.ones(len(edges.start), dtype=np.int16)
    shape = (topology.nodes, topology.nodes)
    # This conversion adds the values at equal positions.
    matrix = sparse.csr_array((ones, (edges.start, edges.end)), shape=shape)
    return matrix + matrix.T if isinstance(artifact, Topology) else matrix


def import_library(module: str, extra: str = "") -> Any:
    """Import a module of an optional library.

    Args:
        extra: the extra of starcast that installs the library (default: the library's name).

    Raises:
        UnavailableError: the library is not installed.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        # If the missing module is a dependency of the package, the package is installed, and
        # installing it again would not help.
        if (error.name or "").partition(".")[0] != package:
            raise
        raise UnavailableError(
            f"{package} is not installed",
            hint=f"install it: pip install 'starcast[{extra or package}]'",
        ) from None


def _topology_of(artifact: Topology | Forest) -> Topology:
    return artifact.topology if isinstance(artifact, Forest) else artifact


def _graph_attributes(artifact: Topology | Forest) -> dict[str, str | int]:
    if isinstance(artifact, Topology):
        return {"topology": artifact.spec}
    return {"forest": artifact.id, "topology": artifact.topology.spec, "root": artifact.root}


def _records(columns: dict[str, NDArray[np.int64]]) -> list[dict[str, int]]:
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _edges(artifact: Topology | Forest, tree: int | None) -> _Edges:
    if isinstance(artifact, Forest):
        edges = edges_of(artifact, tree)
        attributes = {"tree": edges.tree, "level": edges.level, "port": edges.port}
        return _Edges(edges.parent, edges.child, attributes)
    if tree is not None:
        raise InputError(
            f"{artifact.spec} is a topology and has no tree {tree}",
            hint="give a forest, or omit the tree",
        )
    return _links(artifact)


def _links(topology: Topology) -> _Edges:
    """Return each undirected link once, from its lower rank."""
    parts = []
    for port in topology.ports:
        neighbours = topology.neighbours(port).astype(np.int64)
        lower = np.flatnonzero(np.arange(topology.nodes) < neighbours)
        parts.append((lower, neighbours[lower], np.full(len(lower), port, dtype=np.int64)))
    start, end, ports = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _Edges(start, end, {"port": ports})
