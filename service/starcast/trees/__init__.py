"""Spanning trees: the forest array and the constructions that compute it."""

from starcast.trees.catalogue import forest
from starcast.trees.construction import constructions, plain_constructions
from starcast.trees.model import Forest

__all__ = ["Forest", "constructions", "forest", "plain_constructions"]
