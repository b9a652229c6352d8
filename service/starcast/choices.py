"""Closed sets of words that are both options of the command line and arguments in Python.

They are defined outside of the packages that use them, because importing those packages is slow
and ``starcast --help`` must be fast.
"""

from enum import StrEnum


class LoadMethod(StrEnum):
    """How rows get into Neo4j: over Bolt, by offline import, or by the faster possible method."""

    AUTO = "auto"
    BOLT = "bolt"
    IMPORT = "import"


class Layout(StrEnum):
    """Arrangement of the nodes of a picture: by distance from a source, or on a circle."""

    LEVELS = "levels"
    RING = "ring"
