"""The files of an offline import, read back by Python's own CSV reader: headers, numbers, quotes, and every row."""

import csv
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from starcast.collectives.catalogue import algorithms_on
from starcast.graph import bulk_files, rows
from starcast.graph.schema import LABELS, RELATIONSHIPS, VERSION, first_key
from starcast.ingest.artifacts import (
    Artifact,
    BuiltArtifact,
    ForestArtifact,
    ScheduleArtifact,
    TopologyArtifact,
)
from starcast.ingest.planning import plan
from starcast.progress import Silent
from starcast.topologies import topology
from starcast.trees import forest

STORE = UUID("00000000-0000-4000-8000-000000000001")
Table = list[dict[str, str]]


def things() -> list[Artifact]:
    """Things whose names hold commas and parentheses, partial trees, a symmetric schedule, one that sends along a forest."""
    s4, nk = topology("S4"), topology("S4,2")
    grown = [
        forest(s4, "multiple", "3142"),
        forest(s4, "perfectly-balanced"),
        forest(nk, "nk-multiple"),
    ]
    grown.append(forest(s4, "dimension-change", i=2, base="greedy"))
    rules = {(rule.collective, rule.name): rule for rule in algorithms_on(s4)}
    asked = (("broadcast", "multiple"), ("alltoall", "exact"), ("gather", "balanced"))
    sends = [
        ScheduleArtifact(
            rule,
            s4,
            5 if rule.sources(s4, rule.ports[0]) == 1 else 0,
            rule.ports[0],
            rule.resolve_arguments(s4, {}),
        )
        for rule in (rules[one] for one in asked)
    ]
    along = [
        ForestArtifact(forest(s4, word, one.root))
        for one in sends
        if (word := one.algorithm.forest_construction(s4, one.ports, one.arguments))
    ]
    return [TopologyArtifact(s4), TopologyArtifact(nk), *map(ForestArtifact, grown), *along, *sends]


@pytest.fixture(scope="module")
def built() -> list[BuiltArtifact]:
    """The things, built."""
    return [thing.build() for thing in things()]


@pytest.fixture(scope="module")
def written(
    built: list[BuiltArtifact], tmp_path_factory: pytest.TempPathFactory
) -> bulk_files.BulkFiles:
    """Their files, in blocks so small that every file has several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "BLOCK", 50)
        patch.setattr(bulk_files, "BLOCK", 7)
        return bulk_files.write(tmp_path_factory.mktemp("files"), STORE, iter(built), Silent())


def table(written: bulk_files.BulkFiles, name: str) -> Table:
    """A file as rows by column, without the columns' types."""
    with (written.folder / f"{name.lower()}.csv").open(newline="", encoding="utf-8") as file:
        names, *lines = csv.reader(file)
    plain = [re.sub(r"(?<=.):.*", "", name) for name in names]
    return [dict(zip(plain, line, strict=True)) for line in lines]


def numbers(lines: Table, *names: str) -> list[tuple[int, ...]]:
    """These columns as numbers, sorted."""
    return sorted(tuple(int(line[name]) for name in names) for line in lines)


def test_the_headers_are_those_of_the_schema(written: bulk_files.BulkFiles) -> None:
    """The properties in the order declared, with their types, after the numbers of nodes."""
    kinds = {"STRING": "string", "INTEGER": "long", "BOOLEAN": "boolean"}
    for thing in (*LABELS, *RELATIONSHIPS):
        ids = ":ID" if thing in LABELS else ":START_ID,:END_ID"
        expected = ",".join([ids, *(f"{one.name}:{kinds[one.type]}" for one in thing.properties)])
        assert (written.folder / f"{thing.name.lower()}.csv").read_text().splitlines()[
            0
        ] == expected


def test_nodes_are_numbered_without_a_gap(
    written: bulk_files.BulkFiles, built: list[BuiltArtifact]
) -> None:
    """What `--id-type=actual` demands: over all files, from 0, each number once."""
    found = sorted(int(line[":ID"]) for label in LABELS for line in table(written, label.name))
    assert found == list(range(written.nodes))
    assert written.nodes == 1 + len(built) + sum(one.content.nodes for one in built)


def test_nodes_have_their_key_rank_and_label(written: bulk_files.BulkFiles) -> None:
    """Those of both topologies, each in the order of ranks."""
    found = [
        (one["topology"], int(one["key"]), int(one["rank"]), one["label"])
        for one in table(written, "Node")
    ]
    expected = [
        (spec, first_key(topology(spec)) + rank, rank, label)
        for spec in ("S4", "S4,2")
        for rank, label in enumerate(topology(spec).labels().tolist())
    ]
    assert found == expected


def test_the_nodes_of_things_have_all_properties_and_are_only_imported(
    written: bulk_files.BulkFiles, built: list[BuiltArtifact]
) -> None:
    """Texts as they are, numbers and truths as Neo4j reads them, nothing where there is no value."""
    found = [line for name in ("Topology", "Forest", "Schedule") for line in table(written, name)]
    expected = sorted(
        ({**one.node.properties, "state": "imported"} for one in built),
        key=lambda one: str(one.get("id", one.get("spec"))),
    )
    plain = [{name: value for name, value in line.items() if name != ":ID"} for line in found]
    plain.sort(key=lambda one: one.get("id", one.get("spec", "")))
    assert plain == [{name: _text(value) for name, value in one.items()} for one in expected]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_an_empty_text_is_no_missing_value(written: bulk_files.BulkFiles) -> None:
    """The importer takes ``""`` for a text and nothing for no property: arguments of a forest, k of S4."""
    lines = (written.folder / "forest.csv").read_text().splitlines()
    assert any(',multiple,"",' in line for line in lines)
    assert any(',"base=greedy,i=2",' in line for line in lines)
    assert "S4,star,4,,24," in (written.folder / "topology.csv").read_text()
    assert '"S4,2",nk-star,4,2,12,' in (written.folder / "topology.csv").read_text()


@pytest.mark.parametrize("name", ["LINK", "TREE_EDGE", "SEND"])
def test_relationships_are_those_of_the_things(
    written: bulk_files.BulkFiles, built: list[BuiltArtifact], name: str
) -> None:
    """Every row of every thing: both ends by the numbers of their nodes, and all properties."""
    kind = next(one for one in RELATIONSHIPS if one.name == name)
    place = {(one["topology"], int(one["rank"])): int(one[":ID"]) for one in table(written, "Node")}
    lines, compared = table(written, name), 0
    for one in built:
        whole = one.rows
        if whole.relationship is not kind:
            continue
        ends = [
            [place[one.topology.spec, rank] for rank in column.tolist()]
            for column in (whole.start, whole.end)
        ]
        expected = sorted(
            zip(*ends, *(column.tolist() for column in whole.columns.values()), strict=True)
        )
        own = [line for line in lines if line[str(kind.artifact_property)] == one.node.id]
        assert numbers(own, ":START_ID", ":END_ID", *kind.columns) == expected
        compared += len(own)
    assert compared == len(lines) > 0


def test_things_hang_from_what_they_are_on(
    written: bulk_files.BulkFiles, built: list[BuiltArtifact]
) -> None:
    """Forests from topologies, schedules from their forests, and nothing else."""
    named = {
        int(line[":ID"]): line.get("id", line.get("spec"))
        for kind in ("Topology", "Forest", "Schedule")
        for line in table(written, kind)
    }
    for name in ("ON", "USES"):
        found = {
            (named[start], named[end])
            for start, end in numbers(table(written, name), ":START_ID", ":END_ID")
        }
        assert found == {
            (one.node.id, one.node.parent[2])
            for one in built
            if one.node.parent and one.node.parent[0].name == name
        }


def test_the_store_node_names_the_relational_store(written: bulk_files.BulkFiles) -> None:
    assert table(written, "Store") == [{":ID": "0", "id": str(STORE), "schema": str(VERSION)}]


def test_what_is_told_of_the_files_is_true(
    written: bulk_files.BulkFiles, built: list[BuiltArtifact]
) -> None:
    """Rows and bytes, and one argument a file, as seen from anywhere."""
    hanging = sum(one.node.parent is not None for one in built)
    assert written.relationships == hanging + sum(one.content.relationships for one in built)
    assert written.bytes == sum(file.stat().st_size for file in written.folder.iterdir())
    files = {argument.rpartition("/")[2] for argument in written.arguments}
    assert files == {file.name for file in written.folder.iterdir()}
    assert written.arguments[0] == "--nodes=Store=./store.csv"
    assert written.arguments_in("/x")[-1] == "--relationships=USES=/x/uses.csv"


def test_kinds_that_there_are_none_of_have_no_file(tmp_path: Path) -> None:
    """The importer would refuse a file without a header, and has no use for one."""
    written = bulk_files.write(
        tmp_path, STORE, [TopologyArtifact(topology("S3")).build()], Silent()
    )
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "link.csv",
        "node.csv",
        "store.csv",
        "topology.csv",
    ]
    assert len(written.arguments) == 4


def test_an_empty_store_is_its_own_node(tmp_path: Path) -> None:
    written = bulk_files.write(tmp_path, STORE, [], Silent())
    assert (written.nodes, written.relationships, written.arguments) == (
        1,
        0,
        ("--nodes=Store=./store.csv",),
    )


def test_what_hangs_from_nothing_is_refused(tmp_path: Path) -> None:
    """A forest comes after its topology."""
    with pytest.raises(KeyError, match="S4"):
        bulk_files.write(
            tmp_path, STORE, [ForestArtifact(forest("S4", "greedy")).build()], Silent()
        )


def test_a_folder_with_files_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "store.csv").write_text("mine")
    with pytest.raises(FileExistsError):
        bulk_files.write(tmp_path, STORE, [], Silent())
    assert (tmp_path / "store.csv").read_text() == "mine"


SIZED: dict[str, Callable[[], Sequence[Artifact]]] = {
    "S6": lambda: plan("S6", ["multiple"], ["broadcast:multiple", "alltoall:exact"]).artifacts,
    "S6,4": lambda: plan("S6,4", ["nk-multiple"]).artifacts,
    "Q7": lambda: plan("Q7", ["edge-disjoint-binomial"]).artifacts,
}


@pytest.mark.parametrize("name", SIZED)
def test_the_estimate_is_an_upper_bound_and_no_wild_one(name: str, tmp_path: Path) -> None:
    """Bytes of all rows, for the width of the largest number that there is."""
    chosen = SIZED[name]()
    written = bulk_files.write(tmp_path, STORE, [thing.build() for thing in chosen], Silent())
    largest = len(str(written.nodes))
    estimated = sum(
        one.nodes * bulk_files.node_bytes(one.topology, largest)
        + one.relationships * bulk_files.row_bytes(one.kind, one.id, largest)
        for one in chosen
    )
    assert written.bytes < estimated + 2000  # headers, and the nodes of the things
    assert written.bytes > 0.6 * estimated
