"""Constructions, algorithms and families of topologies that users add.

A plug-in is a Python file or module whose functions are decorated with `construction`, `algorithm`
or `family`. It is loaded if the user names it (`load`), if an installed package declares it as an
entry point, or by importing it. Then its names are valid everywhere. Nothing that a plug-in returns
is trusted: arrays are checked here, forests and schedules by their checkers.
"""

from starcast.plugins.declarations import algorithm, construction, family
from starcast.plugins.loading import load, loadable
from starcast.plugins.origin import (
    ORIGINS,
    PluginMissingError,
    Provenance,
    describe_used,
    find_changed,
    find_missing,
    require_plugins,
)

__all__ = [
    "ORIGINS",
    "PluginMissingError",
    "Provenance",
    "algorithm",
    "construction",
    "describe_used",
    "family",
    "find_changed",
    "find_missing",
    "load",
    "loadable",
    "require_plugins",
]
