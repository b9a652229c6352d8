"""Embedded engines that store the same rows as the graph: DuckDB (SQL) and Ladybug (Cypher).

Each engine has a database file with the rows and columns that starcast writes to Neo4j. The engine
executes the statements in `packs_duckdb.sql` or `packs_ladybug.cypher`. Each statement answers the
question of a query, and its result has the columns of the query.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb
import ladybug
import polars as pl

from benchmarks.packs_place import Place
from starcast.queries import Query
from starcast.stores.graph.artifacts import GraphArtifact, graph_artifact

HERE = Path(__file__).parent


def read_statements(file: Path) -> dict[str, str]:
    """Return the statements of a file by query name; ``schema`` creates the tables."""
    parts = re.split(
        r"^(?://|--) query: (\S+)\n", file.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    return dict(zip(parts[1::2], parts[2::2], strict=True))


class Engine(ABC):
    """A database with the rows of several `Place` objects.

    Args:
        folder: folder for the database and for the files that it loads.

    Attributes:
        name: name of the engine and of its package.
        statements: the statements by query name; ``schema`` is the statement that creates the
            tables.
    """

    name: str
    statements: Mapping[str, str]

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def release(self) -> str:
        """The version of the engine."""
        return version(self.name)

    def answers(self, query: Query) -> bool:
        """Return whether the engine has a statement for a query."""
        return query.name in self.statements

    def write(self, place: Place) -> None:
        """Load the topology, the forests and the schedule of a place."""
        keys = pl.Series([f"{place.topology.spec}:{label}" for label in place.labels])
        nodes = pl.DataFrame({"key": keys, "rank": range(len(keys)), "label": place.labels})
        self._load("nodes", nodes.with_columns(topology=pl.lit(place.topology.spec)))
        for artifact in map(graph_artifact, place.artifacts()):
            self._load(artifact.kind, _properties(artifact))
            for frame in _relationships(artifact, keys):
                self._load(artifact.kind + "_rows", frame)

    def ask(self, place: Place, query: Query, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Run the engine's statement for a query, and return its rows."""
        statement = self.statements[query.name]
        used = re.findall(r"\$(\w+)", statement)
        return self._run(statement, self._values(place, query, {n: values[n] for n in used}))

    def _load(self, part: str, frame: pl.DataFrame) -> None:
        file = self._folder / "rows.parquet"
        frame.write_parquet(file)
        self._copy(part, file)

    def _values(
        self,
        place: Place,  # noqa: ARG002 - names of nodes may need the topology
        query: Query,  # noqa: ARG002
        values: Mapping[str, Any],
    ) -> dict[str, Any]:
        return dict(values)

    @abstractmethod
    def _copy(self, part: str, file: Path) -> None:
        """Append the rows of a file to the table for ``part``, a key of `_SELECT` or `_RETURN`."""

    @abstractmethod
    def _run(self, statement: str, values: dict[str, Any]) -> list[dict[str, Any]]:
        """Run a statement, and return its rows by column name."""


def _properties(artifact: GraphArtifact) -> pl.DataFrame:
    return pl.DataFrame([artifact.properties])


def _relationships(artifact: GraphArtifact, keys: pl.Series) -> Iterator[pl.DataFrame]:
    for block in artifact.blocks():
        columns = {"start": block.start, "end": block.end, **block.columns}
        yield pl.DataFrame(columns).with_columns(
            artifact=pl.lit(block.artifact_id),
            start_key=keys.gather(block.start),
            end_key=keys.gather(block.end),
        )


class DuckDB(Engine):
    """The engine DuckDB, with tables of nodes, links, tree edges and sends.

    Links, tree edges and sends refer to nodes by rank.
    """

    name = "duckdb"
    statements = read_statements(HERE / "packs_duckdb.sql")
    _SELECT: Mapping[str, str] = {
        "nodes": "nodes SELECT topology, rank, label",
        "topology": "topologies SELECT spec, links, reverse_ports",
        "topology_rows": 'links SELECT artifact, start, "end", port',
        "forest": "forests SELECT id, topology, root, trees",
        "forest_rows": (
            'tree_edges SELECT artifact, start, "end", tree, level, port, subtree_nodes'
        ),
        "schedule": "schedules SELECT id, topology, steps",
        "schedule_rows": 'sends SELECT artifact, start, "end", step, tree, port, unit, combine',
    }

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._database = duckdb.connect(folder / "duckdb.db")
        self._database.execute(self.statements["schema"])

    def _copy(self, part: str, file: Path) -> None:
        self._database.execute(f"INSERT INTO {self._SELECT[part]} FROM '{file}'")

    def _run(self, statement: str, values: dict[str, Any]) -> list[dict[str, Any]]:
        answer = self._database.execute(statement, values)
        names = [column[0] for column in answer.description]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


class Ladybug(Engine):
    """The engine Ladybug, a graph database with the same nodes and relationships as Neo4j."""

    name = "ladybug"
    statements = read_statements(HERE / "packs_ladybug.cypher")
    _RETURN: Mapping[str, str] = {
        "nodes": "Node RETURN key, topology, rank, label",
        "topology": "Topology RETURN spec, links, reverse_ports",
        "topology_rows": "LINK RETURN start_key, end_key, port",
        "forest": "Forest RETURN id, topology, root, trees",
        "forest_rows": (
            "TREE_EDGE RETURN start_key, end_key, artifact, tree, level, port, subtree_nodes"
        ),
        "schedule": "Schedule RETURN id, topology, steps",
        "schedule_rows": (
            "SEND RETURN start_key, end_key, artifact, step, tree, port, unit, combine"
        ),
    }

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._database = ladybug.Connection(ladybug.Database(folder / "ladybug.db"))
        self._database.execute(self.statements["schema"])

    def _values(self, place: Place, query: Query, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameter values, in which node labels are replaced by node keys."""
        kinds = {parameter.name: parameter.type.name for parameter in query.parameters}
        return {
            name: _keys(place.topology.spec, value) if kinds[name] == "node" else value
            for name, value in values.items()
        }

    def _copy(self, part: str, file: Path) -> None:
        table, columns = self._RETURN[part].split(" ", 1)
        self._database.execute(f"COPY {table} FROM (LOAD FROM '{file}' {columns})")

    def _run(self, statement: str, values: dict[str, Any]) -> list[dict[str, Any]]:
        answer = self._database.execute(statement, values)
        assert isinstance(answer, ladybug.QueryResult)
        names = answer.get_column_names()
        return [dict(zip(names, row, strict=True)) for row in answer.get_all()]


def _keys(spec: str, value: Any) -> Any:
    return f"{spec}:{value}" if isinstance(value, str) else [f"{spec}:{label}" for label in value]
