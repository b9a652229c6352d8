"""`starcast export`: the files, the printed guide, and failures that leave no files."""

import csv
import errno
import os
import shutil
import stat
import subprocess
from collections import namedtuple
from pathlib import Path
from typing import NoReturn

import pytest
from sqlalchemy import URL

from starcast.errors import RejectedError
from starcast.graph import bulk_files
from starcast.ingest import Stores, ingest
from starcast.trees import forest
from support.fix_cli import Result, Starcast, name_store
from support.plans import plan

_Usage = namedtuple("_Usage", "total used free")  # noqa: PYI024 - as shutil has it


@pytest.fixture
def starcast(starcast: Starcast, monkeypatch: pytest.MonkeyPatch, clean_database: URL) -> Starcast:
    """Return the command line with PostgreSQL; Neo4j is not needed and not running."""
    monkeypatch.setenv("STARCAST_NEO4J_URI", "bolt://127.0.0.1:9")
    name_store(monkeypatch, clean_database)
    return starcast


def names(folder: Path, file: str) -> list[str]:
    """Return the second column of a file: ids, after their numbers."""
    with (folder / file).open(newline="", encoding="utf-8") as opened:
        return [line[1] for line in list(csv.reader(opened))[1:]]


def refused(result: Result, code: int, *words: str) -> None:
    """Check that an error has these words and a hint, and that stdout is empty."""
    assert result.code == code, result.err
    assert result.out == ""
    assert "\nhint: " in result.err
    assert all(word in result.err for word in words), result.err


@pytest.mark.slow
def test_files_contain_stored_and_requested_artifacts(
    starcast: Starcast, stores: Stores, tmp_path: Path
) -> None:
    """A stored forest that is requested again is written once; no other file is left."""
    ingest(stores, plan("S3", ["multiple"]))
    folder = tmp_path / "my files"
    done = starcast("export", str(folder), "S4,2", "--trees", "nk-greedy", "--schedules", "all")
    assert done.code == 0, done.err
    assert names(folder, "topology.csv") == ["S3", "S4,2"]
    assert names(folder, "forest.csv")[0] == "S3:multiple:123"
    assert "S4,2:nk-greedy:12" in names(folder, "forest.csv")
    assert len(names(folder, "node.csv")) == 6 + 12
    assert names(folder, "store.csv") == [str(stores.id)]
    assert sorted(tmp_path.iterdir()) == [folder]


@pytest.mark.slow
def test_an_artifact_that_is_stored_and_requested_is_written_once(
    starcast: Starcast, stores: Stores, tmp_path: Path
) -> None:
    ingest(stores, plan("S3", ["multiple"]))
    assert starcast("export", str(tmp_path / "files"), "S3", "--trees", "all").code == 0
    found = names(tmp_path / "files", "forest.csv")
    assert len(found) == len(set(found)) > 1
    assert names(tmp_path / "files", "topology.csv") == ["S3"]


@pytest.mark.slow
def test_the_stored_forest_is_written(starcast: Starcast, stores: Stores, tmp_path: Path) -> None:
    """The edges are those of the ingested forest, with its root, from PostgreSQL."""
    ingest(stores, plan("S4", ["multiple"], root="3142"))
    assert starcast("export", str(tmp_path / "files")).code == 0
    with (tmp_path / "files" / "tree_edge.csv").open(newline="") as file:
        edges = list(csv.DictReader(file))
    grown = forest("S4", "multiple", "3142")
    assert len(edges) == int(grown.sizes.sum()) - grown.trees
    assert {edge["forest:string"] for edge in edges} == {grown.id}


def test_the_printed_guide_is_also_a_file(starcast: Starcast, tmp_path: Path) -> None:
    """The guide names the quoted folder, the script and the next steps."""
    folder = tmp_path / "my files"
    done = starcast("export", str(folder), "S3")
    assert (folder / "README.md").read_text(encoding="utf-8") in done.err
    assert f"-v '{folder}:/export:ro' neo4j sh /export/import.sh\n" in done.err
    assert f"sh '{folder}/import.sh'\n" in done.err
    assert done.err.count("starcast graph adopt\n") == 2
    assert "writing 6 nodes and 6 relationships, about 0 MB of files" in done.err


def test_the_guide_names_another_database(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If the settings name a database."""
    monkeypatch.setenv("STARCAST_NEO4J_DATABASE", "lab")
    done = starcast("export", str(tmp_path / "files"), "S3")
    assert done.err.count("import.sh lab\n") == 2


def test_the_script_runs_the_import_tool_in_its_folder(starcast: Starcast, tmp_path: Path) -> None:
    """Paths are relative, because the tool takes a comma in a path for a separator."""
    folder = tmp_path / "S4,2 and more"
    assert starcast("export", str(folder), "S3").code == 0
    tool = tmp_path / "tool"
    tool.write_text('#!/bin/sh\npwd\nprintf "%s\\n" "$@"\n')
    tool.chmod(0o755)
    arguments = subprocess.run(
        ["sh", folder / "import.sh", "lab"],
        cwd="/",
        env={"PATH": os.defpath, "NEO4J_ADMIN": str(tool)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert arguments[:5] == [str(folder), "database", "import", "full", "lab"]
    assert {"--overwrite-destination", *bulk_files.OPTIONS} < set(arguments)
    given = [
        word.split("=")[2]
        for word in arguments
        if word.startswith(("--nodes=", "--relationships="))
    ]
    assert sorted(given) == sorted(f"./{file.name}" for file in folder.glob("*.csv"))
    report = next(word.partition("=")[2] for word in arguments if word.startswith("--report-file="))
    assert not Path(report).exists()


def test_the_files_are_readable_for_the_user_of_the_server(
    starcast: Starcast, tmp_path: Path
) -> None:
    """Even if the umask of the user is restrictive."""
    mask = os.umask(0o077)
    try:
        assert starcast("export", str(tmp_path / "files"), "S3").code == 0
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "files").stat().st_mode) == 0o755
    assert {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "files").iterdir()} == {0o644}


def test_an_empty_folder_is_accepted(starcast: Starcast, tmp_path: Path) -> None:
    """An empty store has only the node of the store."""
    (tmp_path / "files").mkdir()
    assert starcast("export", str(tmp_path / "files")).code == 0
    assert sorted(file.name for file in (tmp_path / "files").iterdir()) == [
        "README.md",
        "import.sh",
        "store.csv",
    ]


def test_an_unusable_folder_is_refused(starcast: Starcast, tmp_path: Path) -> None:
    """A folder with files, a file, and a missing parent are refused before building."""
    (tmp_path / "mine").write_text("mine")
    refused(starcast("export", str(tmp_path), "S3"), 2, "is not empty")
    refused(starcast("export", str(tmp_path / "mine"), "S3"), 2, "is a file")
    refused(
        starcast("export", str(tmp_path / "no" / "files"), "S3"),
        2,
        f"{tmp_path / 'no'} does not exist",
    )
    assert [file.name for file in tmp_path.iterdir()] == ["mine"]


def test_options_without_a_topology_are_refused(starcast: Starcast, tmp_path: Path) -> None:
    """Trees without a topology, and an invalid topology."""
    refused(starcast("export", str(tmp_path / "files"), "--trees", "all"), 2, "none is given")
    refused(starcast("export", str(tmp_path / "files"), "S99"), 2, "S99")
    assert list(tmp_path.iterdir()) == []


def test_too_small_a_disk_is_refused_with_figures(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The check comes before the first file."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(10**9, 10**9 - 5_000_000, 5_000_000))
    done = starcast("export", str(tmp_path / "files"), "S8", "--trees", "multiple")
    refused(done, 7, "40,320 nodes and 423,353 relationships", "which has 5 MB free")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), 7, "no space left"),
        (OSError(errno.EACCES, os.strerror(errno.EACCES)), 2, "permission denied"),
        (RejectedError("a tree is none", hint="mend it"), 6, "a tree is none"),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else "",
)
def test_a_failed_export_leaves_no_files(
    starcast: Starcast,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    error: Exception,
    code: int,
    sentence: str,
) -> None:
    """A full disk, a read-only disk, and an invalid tree, each during the export."""
    write = bulk_files.write

    def half(*given: object) -> NoReturn:
        write(*given)  # type: ignore[arg-type]
        raise error

    monkeypatch.setattr(bulk_files, "write", half)
    (tmp_path / "files").mkdir()
    refused(starcast("export", str(tmp_path / "files"), "S3"), code, sentence)
    assert list(tmp_path.rglob("*")) == [tmp_path / "files"]
