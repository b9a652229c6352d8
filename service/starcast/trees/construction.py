"""The decorator that declares a construction, and the registry of constructions by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.catalogue.declarations import Function, check_declaration, read_arguments
from starcast.catalogue.entries import Entry, Registry
from starcast.catalogue.origin import run_guarded
from starcast.support.errors import InputError
from starcast.topologies import Topology, as_topology
from starcast.trees.model import Forest


@dataclass(frozen=True, kw_only=True, repr=False)
class Construction(Entry):
    """A rule that builds trees on a topology.

    Attributes:
        description: the trees, as a noun phrase.
        build: ``build(topology, root, **arguments)`` returns the forest. If an argument is a
            construction, the function receives the forest that this construction builds at the
            identity.
        one_tree_per_port: whether it yields a tree for each port rather than a single tree.
        partial: whether its trees do not reach all nodes.
    """

    description: str
    build: Callable[..., Forest]
    one_tree_per_port: bool = False
    partial: bool = False

    def __str__(self) -> str:
        return f"the construction '{self.name}'"

    def count_trees(self, topology: Topology) -> int:
        """Return how many trees the construction has on a topology."""
        return topology.degree if self.one_tree_per_port else 1

    def count_spanning_edges(self, topology: Topology) -> int:
        """Return the total number of edges of the trees, assuming that each reaches all nodes."""
        return self.count_trees(topology) * (topology.nodes - 1)


CONSTRUCTIONS: Registry[Construction] = Registry("construction")


def construction(
    name: str,
    *,
    source: str,
    families: Sequence[str] = (),
    description: str = "",
    one_tree_per_port: bool = False,
    partial: bool = False,
    smallest: int = 1,
    exclusion: Callable[[Topology], str | None] = lambda _: None,
) -> Callable[[Function], Function]:
    """Declare a function as a construction of trees.

    The function is called as ``function(topology, root, **arguments)`` and returns an array of
    parent ports, uint8 ``[trees, nodes]`` or ``[nodes]``, or a `Forest`. Its further parameters,
    annotated with int or str, are the construction's arguments.

    Args:
        name: lower-case words joined by hyphens.
        source: the paper and the number of the definition.
        families: the families of topologies on which it is defined, such as ``["star"]``; by
            default all.
        description: the trees, as a noun phrase.
        one_tree_per_port: whether it yields a tree for each port rather than a single tree.
        partial: whether its trees do not reach all nodes.
        smallest: the smallest n for which it is defined.
        exclusion: returns the reason why the construction is not defined on a topology of its
            families, or None if it is.

    Raises:
        InputError: the name is taken or malformed, a family is unknown, or the function has a wrong
            signature.
    """

    def decorate(function: Function) -> Function:
        origin = check_declaration(
            "construction", name, function, families, source=source, description=description,
            one_tree_per_port=one_tree_per_port, partial=partial, smallest=smallest,
            exclusion=exclusion,
        )  # fmt: skip

        def build(topology: Topology, root: int, **arguments: Any) -> Forest:
            result = run_guarded(
                f"the construction '{name}'", origin, lambda: function(topology, root, **arguments)
            )
            array = _check_parent_ports(entry, result, topology)
            return Forest(topology, array, root, name, arguments, spanning=not partial)

        entry = Construction(
            name=name, source=source, origin=origin, families=tuple(families), smallest=smallest,
            description=description or f"trees of {origin.module}", exclusion=exclusion,
            one_tree_per_port=one_tree_per_port, partial=partial,
            arguments=read_arguments(name, origin, function, ("topology", "root")),
            # Tests cover starcast's own functions; the results of plug-ins are checked at every
            # call.
            build=function if origin.is_shipped else build,
        )  # fmt: skip
        CONSTRUCTIONS.register(entry)
        return function

    return decorate


def _check_parent_ports(entry: Construction, result: Any, topology: Topology) -> NDArray[np.uint8]:
    name, origin = entry.name, entry.origin
    array: NDArray[Any] = run_guarded(
        f"the result of '{name}'",
        origin,
        lambda: np.atleast_2d(np.asarray(getattr(result, "parent_port", result))),
    )
    expected = (entry.count_trees(topology), topology.nodes)
    if array.dtype.kind not in "iu" or array.shape != expected:
        shape = " x ".join(map(str, array.shape))
        raise InputError(
            f"the construction '{name}' ({origin}) returned an array of {array.dtype} [{shape}] on "
            f"{topology.spec}",
            hint=f"return parent ports, uint8 [{expected[0]}, {expected[1]}]: 0 at the root",
        )
    # The range is checked before the conversion to uint8, which would turn 256 into the valid entry
    # 0.
    wrong = array[(array < 0) | (array > 255)]
    if wrong.size:
        raise InputError(
            f"the construction '{name}' ({origin}) returned the port {wrong[0]}",
            hint=f"the ports of {topology.spec} are {topology.ports[0]} to {topology.ports[-1]}",
        )
    return array.astype(np.uint8)


def constructions(topology: Topology | str | None = None) -> tuple[str, ...]:
    """Return the names of all constructions, or of those that are defined on a topology.

    Example:
        >>> constructions("Q4")
        ('binomial', 'edge-disjoint-binomial')
    """
    if topology is None:
        return tuple(CONSTRUCTIONS)
    entries = CONSTRUCTIONS.supported(as_topology(topology))
    return tuple(construction.name for construction in entries)


def plain_constructions(topology: Topology | str | None = None) -> tuple[str, ...]:
    """Return the names of the constructions that take no arguments besides the root."""
    return tuple(name for name in constructions(topology) if not CONSTRUCTIONS[name].arguments)


def single_trees(topology: Topology | str | None = None) -> tuple[str, ...]:
    """Return the names of the constructions without arguments that build a single spanning tree."""
    entries = (CONSTRUCTIONS[name] for name in plain_constructions(topology))
    return tuple(
        construction.name
        for construction in entries
        if not construction.one_tree_per_port and not construction.partial
    )
