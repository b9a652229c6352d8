"""Load networks, by spec or name, from the stores of the labs that are open in this process.

`starcast.topologies` calls `resolve` for the specs of networks that this process has not loaded,
and every open `starcast.lab.Lab` registers its method that loads networks. This module connects the
two packages, because `starcast.topologies` cannot import the stores, and opening a lab must not
import numpy.
"""

from collections.abc import Callable
from typing import Any
from weakref import WeakMethod

from starcast.support.errors import InputError, StarcastError

#: Function that returns the stored network with the given spec or name, or None.
Resolver = Callable[[str], Any]

_resolvers: list["WeakMethod[Resolver]"] = []


def add_resolver(resolver: Resolver) -> None:
    """Add a lab's method that loads networks; a deleted lab's method is no longer called."""
    _resolvers.append(WeakMethod(resolver))


def remove_resolver(resolver: Resolver) -> None:
    """Remove a method that `add_resolver` added; do nothing if the method was not added."""
    _resolvers[:] = [each for each in _resolvers if each() not in {None, resolver}]


def resolve(spec_or_name: str) -> Any:
    """Return the stored network with a spec or name, or None if no open lab has it.

    The lab that was opened last is searched first. All labs are searched for a name, because labs
    may have different networks of the same name.

    Raises:
        InputError: several networks have this name, in one store or in the stores of several labs.
        StarcastError: the database of an open lab cannot be read, for example because its server
            is not running, and no other lab has the network.
    """
    found: dict[str, Any] = {}
    outage = None
    for reference in _resolvers[::-1]:  # a copy, because other threads may close labs
        method = reference()
        try:
            network = None if method is None else method(spec_or_name)
        except InputError:
            raise
        except StarcastError as error:
            outage = error
            continue
        if network is not None:
            if network.spec == spec_or_name:
                return network
            found[network.spec] = network
    if len(found) > 1:
        raise InputError(
            f"the open labs have different networks named '{spec_or_name}'",
            hint=f"use the spec of one of them: {', '.join(sorted(found))}",
        )
    if outage is not None and not found:
        raise outage
    return next(iter(found.values()), None)
