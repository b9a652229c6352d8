"""The functions of open labs that load networks from their stores, by spec or name.

`starcast.topologies` calls these functions for specs that this process does not know. The package
cannot import the stores, and opening a lab must not import numpy, so both use this module.
"""

from collections.abc import Callable
from typing import Any
from weakref import WeakMethod

#: Returns the network with a spec or name, or None if the store does not contain it.
Resolver = Callable[[str], Any]

_resolvers: list["WeakMethod[Resolver]"] = []


def add_resolver(resolver: Resolver) -> None:
    """Add a lab's method, which is called until it is removed or the lab is deleted."""
    _resolvers.append(WeakMethod(resolver))


def remove_resolver(resolver: Resolver) -> None:
    """Remove a method, if it has been added."""
    _resolvers[:] = [each for each in _resolvers if each() not in {None, resolver}]


def resolve(spec_or_name: str) -> Any:
    """Return the stored network with a spec or name, or None; the lab opened last is asked first.

    Raises:
        InputError: several networks of a store have this name.
        UnavailableError: a server is not running.
    """
    methods = [reference() for reference in reversed(_resolvers)]
    found = (method(spec_or_name) for method in methods if method is not None)
    return next((network for network in found if network is not None), None)
