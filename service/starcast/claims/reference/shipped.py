"""The single trees and algorithms that starcast ships; claims ignore those of plug-ins."""

from starcast.collectives import catalogue
from starcast.collectives.algorithm import Algorithm
from starcast.topologies import Topology
from starcast.trees.construction import CONSTRUCTIONS
from starcast.trees.construction import single_trees as all_single_trees


def single_trees(topology: Topology) -> tuple[str, ...]:
    """Return the names of the shipped constructions of a single spanning tree on its family."""
    entries = (CONSTRUCTIONS[name] for name in all_single_trees(topology))
    return tuple(entry.name for entry in entries if entry.origin.is_shipped and entry.families)


def algorithms_on(topology: Topology, collective: str) -> tuple[Algorithm, ...]:
    """Return the shipped algorithms of a collective that need no arguments."""
    return tuple(
        algorithm
        for algorithm in catalogue.algorithms_on(topology, collective)
        if algorithm.origin.is_shipped
    )
