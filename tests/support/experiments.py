"""Helpers for tests of stored experiments."""

from fractions import Fraction

from sqlalchemy import Engine

from starcast.database import models, repository
from starcast.database.sessions import session
from starcast.experiments.grid import Grid

#: Collectives of one and of many sources, with copies, without faults and with every kind of them.
FAULTY = Grid.from_json({
    "topology": "S4", "collective": ["broadcast", "allgather", "scatter"],
    "algorithm": "edge-disjoint", "copies": [1, 2, 3],
    "faults": ["none", "1 node", "2 links", "2134 1234-4231@2"], "seed": [1, 2, 3],
    "message_bytes": 8,
})  # fmt: skip


def runs(engine: Engine, name: str) -> list[models.Run]:
    """Return the runs of an experiment in the order of storing."""
    with session(engine) as opened:
        return repository.load_runs(opened, repository.load_experiment(opened, name).id)


def time(run: models.Run, kind: str) -> Fraction:
    """Return the time of one kind of cost of a run."""
    return next(cost.time for cost in run.costs if cost.kind == kind)
