"""Query packs as folders: their files, query names, and name conflicts."""

import re
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
import query_packs

from starcast.queries import find, load_library, load_queries
from starcast.queries.execution import ingest_command
from starcast.queries.pack import load_folder, write_template
from starcast.queries.parameters import Parameter
from starcast.queries.query import Column
from starcast.support.errors import InputError, NotFoundError

VALID = """\
// title: Number of nodes
// question: How many nodes are stored?
// parameters: none
// columns:
//   nodes: number of nodes
// revision: 1
// reference: mine

MATCH (n:Node)
RETURN count(n) AS nodes
"""


def write(directory: Path, name: str, text: str = VALID) -> Path:
    path = directory / f"{name}.cypher"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_every_query_of_starcast_is_complete_and_can_be_pasted_into_neo4j_browser() -> None:
    """A query file contains only a header and a statement.

    The stated cost contains no seconds, since times are measured and listed separately.
    """
    for query in load_queries().values():
        assert query.text.startswith("// title: ")
        assert query.cypher == query.text.rstrip()
        assert query.header.question.rstrip(")").endswith(("?", "."))
        assert len(query.header.cost.split()) >= 3
        assert "\n// revision: " in query.text
        assert query.header.reference
        assert not re.search(r"\d\s*(s|ms|seconds)\b", query.header.cost)


def test_a_query_is_found_by_its_short_name_if_no_other_query_has_it(tmp_path: Path) -> None:
    write(tmp_path, "mine/nodes")
    assert find("nodes", tmp_path).name == "mine/nodes"
    assert find("shared-links").name == "overlap/shared-links"
    write(tmp_path, "yours/nodes")
    assert find("yours/nodes", tmp_path).name == "yours/nodes"
    with pytest.raises(InputError, match="several queries are named 'nodes'") as caught:
        find("nodes", tmp_path)
    assert caught.value.hint == "write one of mine/nodes, yours/nodes"


def test_the_error_for_an_unknown_query_suggests_a_similar_name() -> None:
    with pytest.raises(NotFoundError, match="unknown query 'shared-link'") as caught:
        find("shared-link")
    assert caught.value.hint.startswith("did you mean 'shared-links'?")
    with pytest.raises(NotFoundError) as caught:
        find("overlap/sharedlinks")
    assert "'overlap/shared-links'" in caught.value.hint


def test_a_query_given_by_its_path_can_have_any_name_and_folder(tmp_path: Path) -> None:
    path = write(tmp_path, "Some Folder/My Question")
    assert find(str(path)).columns[0].name == "nodes"
    with pytest.raises(InputError, match="cannot be read: No such file"):
        find(str(tmp_path / "nothing.cypher"))
    path.write_bytes(b"// title: \xff\n")
    with pytest.raises(InputError, match="not valid UTF-8"):
        find(str(path))


def test_a_folder_that_cannot_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root can read all folders, so the test simulates the error of the operating system."""
    with pytest.raises(InputError, match=r"query packs .* cannot be read: No such file"):
        load_queries(tmp_path / "nowhere")
    with pytest.raises(InputError, match="cannot be read: Not a directory"):
        load_queries(write(tmp_path, "mine/nodes"))
    monkeypatch.setattr(Path, "iterdir", Mock(side_effect=PermissionError(13, "Permission denied")))
    with pytest.raises(InputError, match="cannot be read: Permission denied") as caught:
        load_folder(tmp_path)
    assert "packs" in caught.value.hint


def test_an_unreadable_pack_does_not_prevent_the_use_of_other_packs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request for a query of the unreadable pack gives an error."""
    write(tmp_path, "mine/nodes")
    write(tmp_path, "closed/nodes")
    real = Path.iterdir

    def denied(path: Path) -> Iterator[Path]:
        if path.name == "closed":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(Path, "iterdir", denied)
    known = load_library(tmp_path)
    assert set(known.queries) == {*load_queries(), "mine/nodes"}
    assert known.find("nodes").name == "mine/nodes"
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        known.find("closed/nodes")
    with pytest.raises(NotFoundError):
        known.find("open/nodes")


def test_a_query_file_outside_the_folder_of_a_pack_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "nodes")
    write(tmp_path, "mine/nodes")
    with pytest.raises(InputError, match=r"nodes\.cypher is not in a pack"):
        load_folder(tmp_path)


@pytest.mark.parametrize("name", ["My Pack/nodes", "mine/Nodes", "mine/number_of_nodes", "mine/-x"])
def test_malformed_names_of_packs_and_queries_are_refused(tmp_path: Path, name: str) -> None:
    write(tmp_path, name)
    with pytest.raises(InputError, match="is not a valid pack or query name"):
        load_folder(tmp_path)


def test_the_folder_of_a_single_query_pack_can_be_loaded(tmp_path: Path) -> None:
    write(tmp_path, "mine/nodes")
    write(tmp_path, "mine/more-nodes")
    assert list(load_folder(tmp_path / "mine")) == ["mine/more-nodes", "mine/nodes"]
    write(tmp_path, "mine/Bad_Name")
    with pytest.raises(InputError, match="'Bad_Name' is not a valid pack or query name"):
        load_folder(tmp_path / "mine")


def test_query_packs_in_several_folders_are_added_to_the_packs_of_starcast(tmp_path: Path) -> None:
    """Hidden folders, and files that are not queries, are ignored."""
    first = write(tmp_path / "a", "mine/nodes")
    write(tmp_path / "a", ".git/nodes")
    first.with_name("notes.txt").write_text("no query")
    write(tmp_path / "b", "other/nodes")
    (tmp_path / "b" / "README.md").write_text("no pack")
    known = load_queries(tmp_path / "a", tmp_path / "b", tmp_path / "a")
    assert set(known) == {"mine/nodes", "other/nodes", *load_queries()}
    second = write(tmp_path / "b", "mine/something-else")
    with pytest.raises(InputError, match="two packs are named 'mine'") as caught:
        load_queries(tmp_path / "a", tmp_path / "b")
    assert str(first.parent) in caught.value.message
    assert str(second.parent) in caught.value.message
    library = load_library(tmp_path / "a", tmp_path / "b")
    assert "other/nodes" in library.queries
    assert not {"mine/nodes", "mine/something-else"} & set(library.queries)


def test_the_template_for_a_new_query_is_valid_and_never_replaces_a_file(tmp_path: Path) -> None:
    path = write_template("mine/load-of-links", tmp_path)
    query = load_folder(tmp_path)["mine/load-of-links"]
    assert (query.path, query.header.title, query.header.reference) == (path, "Load of links", "")
    with pytest.raises(InputError, match="exists"):
        write_template("mine/load-of-links", tmp_path)
    for name in ("load", "mine/Load", "../mine/load", "mine/load.cypher", "mine/", "a/b/c"):
        with pytest.raises(InputError):
            write_template(name, tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be created"):
        write_template("mine/load", tmp_path / "file")


def test_the_query_catalogue_shows_title_question_reference_and_items_of_every_query() -> None:
    page = query_packs.page()
    for query in load_queries().values():
        section = page.split(f"### {query.name}\n")[1].split("\n### ")[0]
        for text in (query.header.title, query.header.question, query.header.reference):
            assert text in section
        items: list[Parameter | Column] = [*query.parameters, *query.columns]
        for item in items:
            assert f"`{item.name}`" in section
            assert item.type is None or f"({item.type}" in section
            assert item.meaning in section


def test_the_example_query_file_in_the_catalogue_is_valid(tmp_path: Path) -> None:
    form = query_packs.page().split("```cypher\n")[1].split("```")[0]
    form = form.replace("MATCH ...", "MATCH (a)-[e {forest: $forest, level: $min_load}]->()")
    form = form.replace("... AS sender, ... AS load", "a.label AS sender, count(e) AS load")
    assert find(str(write(tmp_path, "mine/form", form))).header.cost


@pytest.mark.parametrize(
    ("kind", "name", "options"),
    [
        ("topology", "S6", ""),
        ("forest", "S6:multiple:123456", "--trees multiple --root 123456"),
        ("forest", "S6:dimension-change(base=multiple,i=2):123456",
         "--trees 'dimension-change(base=multiple,i=2)' --root 123456"),
        ("schedule", "S5:broadcast:multiple:all:segments=4:12345",
         "--schedules 'broadcast:multiple(segments=4)' --ports all --root 12345"),
        ("schedule", "S5:allgather:dimension-change:one:base=necklace:54321",
         "--schedules 'allgather:dimension-change(base=necklace)' --ports one --root 54321"),
        ("schedule", "S4:alltoall:necklace:all::1234",
         "--schedules alltoall:necklace --ports all --root 1234"),
        ("schedule", "S4,2:allgather:nk-greedy:one::expanded",
         "--schedules allgather:nk-greedy --ports one"),
    ],
)  # fmt: skip
def test_the_suggested_ingest_command_contains_the_arguments_in_the_artifact_id(
    kind: str, name: str, options: str
) -> None:
    spec = name.partition(":")[0]
    assert ingest_command(kind, name) == f"starcast ingest {spec} {options}".strip()


def test_for_an_invalid_artifact_id_the_suggested_command_lists_artifacts() -> None:
    for kind, name in [
        ("topology", "S6:x"),
        ("forest", "S6"),
        ("forest", "S6:multipl:123456"),
        ("schedule", "S5:broadcast:exact:all::12345"),
        ("schedule", "S5:broadcast"),
    ]:
        assert ingest_command(kind, name) == f"starcast {kind} list"
