"""Helpers for tests of stored experiments."""

from fractions import Fraction
from typing import Any

from sqlalchemy import Engine

from starcast.experiments.design import Grid
from starcast.experiments.point import Point
from starcast.stores.database import repository
from starcast.stores.database.sessions import open_session
from starcast.support.runs import Run
from support.fix_servers import scalars

#: A grid with single-source and multi-source collectives, several numbers of copies, and all kinds
#: of faults.
FAULTY = Grid({
    "topology": "S4", "collective": ["broadcast", "allgather", "scatter"],
    "algorithm": "edge-disjoint", "copies": [1, 2, 3],
    "faults": ["none", "1 node", "2 links", "2134 1234-4231@2"], "seed": [1, 2, 3],
    "message_bytes": 8,
})  # fmt: skip


def make_point(
    topology: str,
    collective: str,
    algorithm: str,
    ports: str = "all",
    segments: int = 1,
    message_bytes: Fraction | int = 1,
    t_s: Fraction | int = 100,
    t_c: Fraction | int = 1,
    **others: Any,
) -> Point:
    """Return an experiment point; sizes and costs can be integers."""
    return Point(
        topology,
        collective,
        algorithm,
        ports,
        segments=segments,
        message_bytes=Fraction(message_bytes),
        t_s=Fraction(t_s),
        t_c=Fraction(t_c),
        **others,
    )


def runs(engine: Engine, name: str) -> list[Run]:
    """Return the runs of an experiment in the order in which they were stored."""
    with open_session(engine) as session:
        return repository.load_runs(session, repository.load_experiment(session, name).id)


def cut_off_lock_holder(engine: Engine) -> None:
    """End the connections that hold an advisory lock on the server, as a failing network does."""
    ended = (
        "select pg_terminate_backend(pid, 5000) from pg_locks"
        " where locktype = 'advisory' and granted"
    )
    assert set(scalars(engine, ended)) == {True}


def figures(engine: Engine, name: str) -> dict[Point, tuple[Any, ...]]:
    """Return status, missing units, faults, costs and profile of each stored run, by point."""
    found = {}
    for run in runs(engine, name):
        costs_of = [(cost.kind, cost.steps, cost.transmissions, cost.time) for cost in run.costs]
        with open_session(engine) as session:
            profile = [
                (step.links_used, step.largest_packet)
                for step in repository.load_profile(session, run.id)
            ]
        found[Point.of(run)] = (run.status, run.missing, run.faults, costs_of, profile)
    return found


def time(run: Run, kind: str) -> Fraction:
    """Return the time of a run according to one kind of cost, such as ``simulated``."""
    return next(cost.time for cost in run.costs if cost.kind == kind)
