"""The CSV files of an offline import into Neo4j.

`tests/runs/test_offline.py` imports such files, and compares all nodes and relationships.
"""

import csv
import re
from pathlib import Path
from uuid import UUID

import pytest

import starcast
from starcast.stores.graph import artifacts, bulk_files
from starcast.stores.graph.artifacts import GraphArtifact, graph_artifact
from starcast.stores.graph.schema import LABELS, RELATIONSHIPS
from starcast.support.progress import Silent
from starcast.topologies import topology
from starcast.trees import forest
from support.plans import plan

STORE = UUID("00000000-0000-4000-8000-000000000001")


TREES = ["multiple", "perfectly-balanced", "dimension-change(base=greedy,i=2)"]
SCHEDULES = ["broadcast:multiple", "alltoall:exact", "gather:balanced"]
#: Plans of artifacts. Some ids contain commas, some trees are partial, and one plan has schedules.
PLANS = (plan("S4", TREES, SCHEDULES, root="3142"), plan("S4,2", ["nk-multiple"]))


@pytest.fixture(scope="module")
def built() -> list[GraphArtifact]:
    """Return the artifacts in the form that is written to Neo4j."""
    return [artifact.build().graph for each in PLANS for artifact in each.artifacts]


@pytest.fixture(scope="module")
def written(
    built: list[GraphArtifact], tmp_path_factory: pytest.TempPathFactory
) -> bulk_files.BulkFiles:
    """Write the artifacts as files, in blocks of a few rows each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(artifacts, "BLOCK", 50)
        patch.setattr(bulk_files, "BLOCK", 7)
        patch.setattr(bulk_files, "_LINES", 5)
        return bulk_files.write(tmp_path_factory.mktemp("files"), STORE, iter(built), 0, Silent())


def test_headers_of_import_files_follow_the_graph_schema(written: bulk_files.BulkFiles) -> None:
    """A header lists node numbers first, then properties and their types in declared order."""
    kinds = {
        "STRING": "string",
        "INTEGER": "long",
        "BOOLEAN": "boolean",
        "LIST<INTEGER NOT NULL>": "long[]",
    }
    for artifact in (*LABELS, *RELATIONSHIPS):
        ids = ":ID" if artifact in LABELS else ":START_ID,:END_ID"
        names = [f"{one.name}:{kinds[one.type]}" for one in artifact.properties]
        text = (written.folder / f"{artifact.name.lower()}.csv").read_text()
        assert text.splitlines()[0] == ",".join([ids, *names])


def test_import_files_written_in_one_or_in_several_blocks_have_the_same_values(
    written: bulk_files.BulkFiles, built: list[GraphArtifact], tmp_path: Path
) -> None:
    """Only leading zeros differ, because each block pads its numbers to its own width."""
    bulk_files.write(tmp_path, STORE, iter(built), 0, Silent())
    for file in tmp_path.iterdir():
        texts = [(folder / file.name).read_text() for folder in (tmp_path, written.folder)]
        at_once, in_blocks = (
            re.sub(r"(^|,)0+(?=\d)", r"\1", text, flags=re.MULTILINE) for text in texts
        )
        assert at_once == in_blocks


def test_labels_and_titles_of_a_network_in_an_import_file_may_differ_in_length(
    tmp_path: Path,
) -> None:
    """If they do, the lines of the node file have different lengths, even within a block."""
    titles = ["a", 'the "hub", or b', "Zürich\u2028", *map(str, range(40))]
    network = starcast.network([(titles[1], title) for title in titles if title != titles[1]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk_files, "_LINES", 5)
        bulk_files.write(tmp_path, STORE, [graph_artifact(network)], 0, Silent())
    with (tmp_path / "node.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["rank:long"] for row in rows] == [str(rank) for rank in range(43)]
    assert [row["label:string"] for row in rows] == network.labels().tolist()
    assert [row["title:string"] for row in rows] == list(network.titles)
    keys = [int(row["key:long"]) - int(row[":ID"]) for row in rows]
    assert len({*keys}) == 1


def test_import_files_distinguish_an_empty_text_from_a_missing_property(
    written: bulk_files.BulkFiles,
) -> None:
    """The importer reads ``""`` as an empty text and an empty field as a missing property."""
    lines = (written.folder / "forest.csv").read_text().splitlines()
    assert any(',multiple,"",' in line for line in lines)
    assert any(',"base=greedy,i=2",' in line for line in lines)
    assert "S4,star,4,,24," in (written.folder / "topology.csv").read_text()
    assert '"S4,2",nk-star,4,2,12,' in (written.folder / "topology.csv").read_text()


def test_the_summary_of_import_files_counts_rows_and_bytes_and_has_importer_arguments(
    written: bulk_files.BulkFiles, built: list[GraphArtifact]
) -> None:
    """The importer gets one argument for each file."""
    assert written.nodes == 1 + len(built) + sum(one.content.nodes for one in built)
    hanging = sum(one.parent is not None for one in built)
    assert written.relationships == hanging + sum(one.content.relationships for one in built)
    assert written.bytes == sum(file.stat().st_size for file in written.folder.iterdir())
    files = {argument.rpartition("/")[2] for argument in written.arguments}
    assert files == {file.name for file in written.folder.iterdir()}
    assert written.arguments[0] == "--nodes=Store=./store.csv"
    assert written.arguments[-1] == "--relationships=USES=./uses.csv"


@pytest.mark.parametrize(
    ("specs", "names"), [([], ["store"]), (["S3"], ["link", "node", "store", "topology"])]
)
def test_node_labels_and_relationship_types_without_rows_have_no_import_file(
    specs: list[str], names: list[str], tmp_path: Path
) -> None:
    """A header is written with the first rows. The importer refuses a file without a header."""
    graphs = [graph_artifact(topology(spec)) for spec in specs]
    written = bulk_files.write(tmp_path, STORE, graphs, 0, Silent())
    assert sorted(file.stem for file in tmp_path.iterdir()) == names
    assert len(written.arguments) == len(names)
    assert written.nodes == 1 + sum(1 + one.content.nodes for one in graphs)


def test_writing_import_files_for_a_forest_without_its_topology_is_refused(tmp_path: Path) -> None:
    """An artifact must come after the artifacts on which it depends."""
    with pytest.raises(KeyError, match="S4"):
        bulk_files.write(tmp_path, STORE, [graph_artifact(forest("S4", "greedy"))], 0, Silent())


def test_existing_import_files_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "store.csv").write_text("mine")
    with pytest.raises(FileExistsError):
        bulk_files.write(tmp_path, STORE, [], 0, Silent())
    assert (tmp_path / "store.csv").read_text() == "mine"


@pytest.mark.parametrize(
    ("spec", "trees", "schedules"),
    [
        ("S6", "multiple", "broadcast:multiple,alltoall:exact"),
        ("S6,4", "nk-multiple", ""),
        ("Q7", "edge-disjoint-binomial", ""),
    ],
)
def test_the_estimated_size_of_import_files_is_a_close_upper_bound(
    spec: str, trees: str, schedules: str, tmp_path: Path
) -> None:
    """The estimate assumes that every number has as many digits as the largest node number."""
    chosen = plan(spec, trees, schedules).artifacts
    graphs = [artifact.build().graph for artifact in chosen]
    written = bulk_files.write(tmp_path, STORE, graphs, 0, Silent())
    largest = len(str(written.nodes))
    estimated = sum(
        one.nodes * bulk_files.node_bytes(one.topology, largest)
        + one.relationships * bulk_files.row_bytes(one.kind, one.id, largest)
        for one in chosen
    )
    assert written.bytes < estimated + 2000  # 2000 bytes for headers and artifact nodes
    assert written.bytes > 0.6 * estimated
