"""`starcast export` as a user calls it: what is written, what is told, and that nothing is half written."""

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
from starcast.ingest import Stores, ingest, plan
from starcast.trees import forest
from support.fix_cli import Result, Starcast, name_store

_Usage = namedtuple("_Usage", "total used free")  # noqa: PYI024 - as shutil has it


@pytest.fixture
def starcast(starcast: Starcast, monkeypatch: pytest.MonkeyPatch, clean_database: URL) -> Starcast:
    """The command line on the test's PostgreSQL, and on a Neo4j that is not there: nobody asks it."""
    monkeypatch.setenv("STARCAST_NEO4J_URI", "bolt://127.0.0.1:9")
    name_store(monkeypatch, clean_database)
    return starcast


def names(folder: Path, file: str) -> list[str]:
    """The second column of a file: the names of things, after their numbers."""
    with (folder / file).open(newline="", encoding="utf-8") as opened:
        return [line[1] for line in list(csv.reader(opened))[1:]]


def refused(result: Result, code: int, *words: str) -> None:
    """One sentence with these words and a hint, and nothing on standard output."""
    assert result.code == code, result.err
    assert result.out == ""
    assert "\nhint: " in result.err
    assert all(word in result.err for word in words), result.err


def test_files_of_what_is_stored_and_what_is_asked_for(
    starcast: Starcast, stores: Stores, tmp_path: Path
) -> None:
    """The stored forest comes once, though it is asked for again; nothing is left beside the folder."""
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


def test_a_thing_that_is_stored_and_asked_for_comes_once(
    starcast: Starcast, stores: Stores, tmp_path: Path
) -> None:
    ingest(stores, plan("S3", ["multiple"]))
    assert starcast("export", str(tmp_path / "files"), "S3", "--trees", "all").code == 0
    found = names(tmp_path / "files", "forest.csv")
    assert len(found) == len(set(found)) > 1
    assert names(tmp_path / "files", "topology.csv") == ["S3"]


def test_the_stored_forest_is_written_not_another_one(
    starcast: Starcast, stores: Stores, tmp_path: Path
) -> None:
    """From its array in PostgreSQL: edges are those of the forest that was ingested, root and all."""
    ingest(stores, plan("S4", ["multiple"], root="3142"))
    assert starcast("export", str(tmp_path / "files")).code == 0
    with (tmp_path / "files" / "tree_edge.csv").open(newline="") as file:
        edges = list(csv.DictReader(file))
    grown = forest("S4", "multiple", "3142")
    assert len(edges) == int(grown.sizes.sum()) - grown.trees
    assert {edge["forest:string"] for edge in edges} == {grown.id}


def test_what_is_printed_stands_beside_the_files(starcast: Starcast, tmp_path: Path) -> None:
    """The guide names the folder, quoted, the script, and what to do afterwards."""
    folder = tmp_path / "my files"
    done = starcast("export", str(folder), "S3")
    assert done.out == (folder / "README.md").read_text(encoding="utf-8")
    assert f"-v '{folder}:/export:ro' neo4j sh /export/import.sh\n" in done.out
    assert f"sh '{folder}/import.sh'\n" in done.out
    assert done.out.count("starcast graph adopt\n") == 2
    assert "writing 6 nodes and 6 relationships, about 0 MB of files" in done.err


def test_the_guide_names_another_database(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where the settings name one."""
    monkeypatch.setenv("STARCAST_NEO4J_DATABASE", "lab")
    done = starcast("export", str(tmp_path / "files"), "S3")
    assert done.out.count("import.sh lab\n") == 2


def test_the_script_runs_the_tool_beside_the_files(starcast: Starcast, tmp_path: Path) -> None:
    """From wherever it is called: the tool would take a comma in a path for its end, so it gets relative ones."""
    folder = tmp_path / "S4,2 and more"
    assert starcast("export", str(folder), "S3").code == 0
    tool = tmp_path / "tool"
    tool.write_text('#!/bin/sh\npwd\nprintf "%s\\n" "$@"\n')
    tool.chmod(0o755)
    said = subprocess.run(
        ["sh", folder / "import.sh", "lab"],
        cwd="/",
        env={"PATH": os.defpath, "NEO4J_ADMIN": str(tool)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert said[:5] == [str(folder), "database", "import", "full", "lab"]
    assert {"--overwrite-destination", *bulk_files.OPTIONS} < set(said)
    given = [
        word.split("=")[2] for word in said if word.startswith(("--nodes=", "--relationships="))
    ]
    assert sorted(given) == sorted(f"./{file.name}" for file in folder.glob("*.csv"))
    report = next(word.partition("=")[2] for word in said if word.startswith("--report-file="))
    assert not Path(report).exists()


def test_the_files_can_be_read_by_the_server_s_user(starcast: Starcast, tmp_path: Path) -> None:
    """Whatever the mask of the user who exports."""
    mask = os.umask(0o077)
    try:
        assert starcast("export", str(tmp_path / "files"), "S3").code == 0
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "files").stat().st_mode) == 0o755
    assert {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "files").iterdir()} == {0o644}


def test_an_empty_folder_will_do(starcast: Starcast, tmp_path: Path) -> None:
    """And a laboratory in which nothing is stored."""
    (tmp_path / "files").mkdir()
    assert starcast("export", str(tmp_path / "files")).code == 0
    assert sorted(file.name for file in (tmp_path / "files").iterdir()) == [
        "README.md",
        "import.sh",
        "store.csv",
    ]


def test_a_folder_that_cannot_be_taken_is_refused(starcast: Starcast, tmp_path: Path) -> None:
    """One with files, a file, one in a folder that is not there: before anything is built."""
    (tmp_path / "mine").write_text("mine")
    refused(starcast("export", str(tmp_path), "S3"), 2, "is not empty")
    refused(starcast("export", str(tmp_path / "mine"), "S3"), 2, "is a file")
    refused(
        starcast("export", str(tmp_path / "no" / "files"), "S3"),
        2,
        f"{tmp_path / 'no'} does not exist",
    )
    assert [file.name for file in tmp_path.iterdir()] == ["mine"]


def test_words_that_go_with_no_topology_are_refused(starcast: Starcast, tmp_path: Path) -> None:
    """Trees without a topology, a topology that cannot be."""
    refused(starcast("export", str(tmp_path / "files"), "--trees", "all"), 2, "none is named")
    refused(starcast("export", str(tmp_path / "files"), "S99"), 2, "S99")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_too_small_is_refused_with_figures(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before anything is written."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(10**9, 10**9 - 5_000_000, 5_000_000))
    done = starcast("export", str(tmp_path / "files"), "S8", "--trees", "multiple")
    refused(done, 7, "40,320 nodes and 423,353 relationships", "which has 5 MB free")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), 7, "no space left"),
        (OSError(errno.EACCES, os.strerror(errno.EACCES)), 2, "permission denied"),
        (RejectedError("a tree is none", hint="mend it"), 6, "a tree is none"),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else "",
)
def test_what_goes_wrong_leaves_nothing(
    starcast: Starcast,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    error: Exception,
    code: int,
    said: str,
) -> None:
    """A disk that fills up, one that cannot be written, a checker that says no: all in the middle of the work."""
    write = bulk_files.write

    def half(*given: object) -> NoReturn:
        write(*given)  # type: ignore[arg-type]
        raise error

    monkeypatch.setattr(bulk_files, "write", half)
    (tmp_path / "files").mkdir()
    refused(starcast("export", str(tmp_path / "files"), "S3"), code, said)
    assert list(tmp_path.rglob("*")) == [tmp_path / "files"]
