"""Fixtures that provide a `Lab` connected to real stores."""

from collections.abc import Iterator

import pytest
from sqlalchemy import URL

from starcast import Lab, connect
from starcast.stores import GraphAddress
from support.fix_cli import name_store

GRID = {"topology": "S4", "segments": [1, 4], "message_bytes": [64, 1024]}


@pytest.fixture
def servers(
    clean_graph: GraphAddress, clean_database: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Point the settings to empty stores on the servers of the test run."""
    name_store(monkeypatch, clean_database)
    monkeypatch.setenv("STARCAST_NEO4J_URI", clean_graph.uri)
    monkeypatch.setenv("STARCAST_NEO4J_PASSWORD", clean_graph.password)


@pytest.fixture
def lab(servers: None) -> Iterator[Lab]:  # noqa: ARG001 - the settings must name the servers first
    """A `Lab` connected to empty stores."""
    with connect() as opened:
        yield opened


@pytest.fixture
def filled(lab: Lab) -> Lab:
    """A `Lab` whose stores hold artifacts on S4, two experiments and a verification run."""
    lab.ingest("S4", trees=["greedy", "multiple"], schedules=["broadcast:multiple"])
    lab.experiment("ours", grid=GRID, algorithm="multiple")
    lab.experiment("theirs", grid=GRID, algorithm="recursive-substar")
    lab.check_claims("TS.L5", sizes=["S4"], jobs=1)
    return lab
