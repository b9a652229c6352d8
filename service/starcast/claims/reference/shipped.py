"""The single trees and algorithms that starcast ships; claims ignore those of plug-ins."""

from starcast.collectives import catalogue
from starcast.collectives.algorithm import Algorithm
from starcast.plugins import ORIGINS
from starcast.topologies import Topology
from starcast.trees import catalogue as trees


def single_trees(topology: Topology) -> tuple[str, ...]:
    """Return the names of the shipped constructions of a single spanning tree."""
    names = trees.single_trees(topology)
    return tuple(name for name in names if ("construction", name) not in ORIGINS)


def algorithms_on(topology: Topology, collective: str) -> tuple[Algorithm, ...]:
    """Return the shipped algorithms of a collective that need no arguments."""
    return tuple(
        algorithm
        for algorithm in catalogue.algorithms_on(topology, collective)
        if (f"{collective} algorithm", algorithm.name) not in ORIGINS
    )
