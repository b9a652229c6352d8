"""Compare the time of an ingest over Bolt with the time of a plain loop of driver calls.

Both the ingest and the loop write the nodes and links of S8. The loop sends batches of 20 000 rows,
one after the other, without comparing or recording them. The ingest is a command in a new process,
so its time includes the start of Python, the comparison with the written rows, and PostgreSQL.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from statistics import median
from time import perf_counter
from typing import LiteralString

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Figure, embedded_stack
from starcast import topology
from starcast.cli.output import say
from starcast.embedded.endpoints import graph_address
from starcast.stores.graph.artifacts import graph_artifact
from starcast.stores.graph.connection import Graph
from starcast.support.settings import Settings
from starcast.topologies import Topology

SPEC = "S8"
BATCH = 20_000
#: Number of rounds that are not measured, because Java compiles code only after many executions.
WARM_UP = 3
ROUNDS = 5

_CONSTRAINT = "CREATE CONSTRAINT IF NOT EXISTS FOR (n:Bare) REQUIRE n.key IS UNIQUE"
_NODES = "UNWIND $rows AS r CREATE (:Bare {key: r[0], label: r[1], topology: $spec})"
_LINKS = (
    "UNWIND $rows AS r MATCH (a:Bare {key: r[0]}) MATCH (b:Bare {key: r[1]}) "
    "CREATE (a)-[:BARE {topology: $spec, port: r[2]}]->(b)"
)
_DELETE = "MATCH (n:Bare) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 10000 ROWS"


def figures() -> Iterator[Figure]:
    """Yield the ratio of ingest time to loop time, as the median of the measured rounds."""
    graph = topology(SPEC)
    links = graph_artifact(graph).rows.sorted()
    rows = np.column_stack([links.start, links.end, links.columns["port"]])
    with embedded_stack() as settings, Graph.open(graph_address(settings)) as server:
        _run(server, _CONSTRAINT)
        ratios = []
        for number in range(WARM_UP + ROUNDS):
            loop = _loop(server, graph, rows)
            ingest = _command(settings, "ingest", SPEC, "--method", "bolt")
            _command(settings, "topology", "drop", SPEC, "--method", "bolt")
            say(f"the loop {loop:.2f} s, the ingest {ingest:.2f} s")
            if number >= WARM_UP:
                ratios.append(ingest / loop)
    yield Figure(f"{SPEC} over Bolt", median(ratios), "loops", "< 1.25", "a loop of the driver", 1)


def _loop(server: Graph, graph: Topology, links: NDArray[np.int64]) -> float:
    """Run the plain loop, return its duration in seconds, and delete the rows that it wrote."""
    nodes = list(enumerate(graph.labels().tolist()))
    begin = perf_counter()
    for statement, rows in ((_NODES, nodes), (_LINKS, links.tolist())):
        for start in range(0, len(rows), BATCH):
            _run(server, statement, rows=rows[start : start + BATCH], spec=SPEC)
    duration = perf_counter() - begin
    _run(server, _DELETE)
    return duration


def _run(server: Graph, cypher: LiteralString, **parameters: object) -> None:
    with server.driver.session() as session:
        session.run(cypher, parameters).consume()


def _command(settings: Settings, *words: str) -> float:
    """Run a starcast command in a new process, and return its duration in seconds."""
    begin = perf_counter()
    subprocess.run(
        [sys.executable, "-m", "starcast.cli.app", *words],
        check=True,
        env={**os.environ, "STARCAST_HOME": str(settings.home)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return perf_counter() - begin
