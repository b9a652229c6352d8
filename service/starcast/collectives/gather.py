"""Gather: the root gets every other node's messages, by a scatter run backwards (Fragopoulou & Akl 1993, section 6)."""

from collections.abc import Callable
from dataclasses import replace

from starcast.collectives import scatter
from starcast.collectives.algorithm import Algorithm
from starcast.collectives.model import Schedule
from starcast.collectives.rows import Columns, arranged
from starcast.collectives.translation import parameters
from starcast.errors import InputError
from starcast.topologies import Topology

_REVERSED = {"scatter": "gather", "gather": "scatter"}


def reversed_in_time(made: Schedule) -> Schedule:
    """A scatter as the gather that runs backwards in time and over every link, and a gather as such a scatter.

    What crossed a link in step t of T crosses it the other way in step T+1-t, along the same row of the same forest. The
    unit that the root sent to a node is now the one that it gets from there, under the same number.

    Raises:
        InputError: it is another collective.
    """
    if made.collective not in _REVERSED:
        raise InputError(
            f"a {made.collective} has no reverse here", hint=f"reverse a {' or a '.join(_REVERSED)}"
        )
    rows = Columns(
        step=made.steps + 1 - made.step,
        sender=made.receiver,
        port=made.topology.reverse_ports()[made.port],
        receiver=made.sender,
        tree=made.tree,
        unit=made.unit,
    )
    return arranged(rows, **parameters(made) | {"collective": _REVERSED[made.collective]})


def gathering(scattering: Algorithm) -> Algorithm:
    """The gather that runs a scatter backwards: its arguments, ports, trees, rows and steps."""
    return replace(scattering, collective="gather", build=_backwards(scattering.build))


def _backwards(build: Callable[..., Schedule]) -> Callable[..., Schedule]:
    def backwards(topology: Topology, root: int, ports: str, **arguments: int | str) -> Schedule:
        return reversed_in_time(build(topology, root, ports, **arguments))

    return backwards


ALGORITHMS = tuple(gathering(rule) for rule in scatter.ALGORITHMS)
