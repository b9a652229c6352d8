"""Things by their names: what is stored, and what a name says has to be stored.

A name says all that is needed to build the thing again: ``S5``, ``S5:multiple:12345``,
``S5:broadcast:multiple:all:segments=4:12345``.
"""

from collections.abc import Callable, Mapping

from sqlalchemy import select
from sqlalchemy.orm import Session

from starcast.collectives.catalogue import find
from starcast.collectives.model import EXPANDED
from starcast.database import models, repository
from starcast.errors import InputError, NotFoundError
from starcast.ingest.artifacts import ForestThing, ScheduleThing, Thing, TopologyThing
from starcast.ingest.states import State
from starcast.topologies import topology
from starcast.trees import forest
from starcast.trees.spec_syntax import parsed, parsed_arguments


def regrown(session: Session, kind: str, key: str) -> Thing:
    """The thing of this name: a forest as it is stored, where it is; everything else from its name alone.

    Raises:
        InputError: no thing of that kind has such a name.
    """
    thing: Thing | None
    try:
        if kind == "forest" and session.get(models.Forest, key) is not None:
            return ForestThing(repository.load_forest(session, key))
        thing = _FROM_NAME[kind](*key.split(":"))
    except (InputError, NotFoundError, TypeError):
        thing = None
    if thing is None or thing.key != key:
        raise InputError(
            f"'{key}' is the name of no {kind}",
            hint="another version of starcast may have stored it",
        )
    return thing


def things(session: Session) -> list[Thing]:
    """Everything that is complete, in the order of building."""
    rows = session.scalars(
        select(models.Materialization).where(models.Materialization.state == State.COMPLETE.value)
    )
    names = sorted((models.KINDS.index(row.kind), row.id) for row in rows)
    return [regrown(session, models.KINDS[place], key) for place, key in names]


def _topology(spec: str) -> Thing:
    return TopologyThing(topology(spec))


def _forest(spec: str, word: str, root: str) -> Thing:
    name, arguments = parsed(word)
    return ForestThing(forest(spec, name, root, **arguments))


def _schedule(
    spec: str, collective: str, name: str, ports: str, arguments: str, root: str
) -> Thing:
    where, rule = topology(spec), find(collective, name)
    at = 0 if root == EXPANDED else where.node(root)
    return ScheduleThing(
        rule,
        where,
        at,
        rule.resolve_ports(ports),
        rule.resolve_arguments(where, parsed_arguments(arguments)),
    )


_FROM_NAME: Mapping[str, Callable[..., Thing]] = {
    "topology": _topology,
    "forest": _forest,
    "schedule": _schedule,
}
