"""Neo4j's data directories: the current directory, and stale directories, which can be deleted."""

from pathlib import Path

import pytest

from starcast.embedded import data_directories
from starcast.support.errors import UnavailableError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Neo4j's home with one data directory, as it is after the first start."""
    (tmp_path / "data" / "databases" / "system").mkdir(parents=True)
    return tmp_path


def test_the_first_directory_is_current_if_no_file_names_another(tmp_path: Path) -> None:
    """Before the first start no directory exists, and reading the names creates none."""
    assert data_directories.current(tmp_path) == tmp_path / "data"
    assert data_directories.stale_names(tmp_path) == []
    data_directories.delete_stale(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_after_a_switch_only_the_previous_data_directory_is_stale_and_deleted(home: Path) -> None:
    """A new directory that is not yet in use counts as stale. Other folders are kept."""
    (home / "conf").mkdir()
    (home / "database").mkdir()  # not a data directory
    for turn in range(3):
        old, new = data_directories.current(home), data_directories.new_directory(home)
        assert not new.exists()
        new.mkdir()
        if turn == 1:
            data_directories.staging(home).mkdir()
            data_directories.delete_stale(home)
            assert not new.exists()
            assert not data_directories.staging(home).exists()
            assert data_directories.current(home) == old
            continue
        data_directories.activate(new)
        assert data_directories.current(home) == new
        assert data_directories.stale_names(home) == [old.name]
        data_directories.delete_stale(home)
        assert not old.exists()
    assert (home / "conf").is_dir()
    assert (home / "database").is_dir()


@pytest.mark.parametrize("text", ["data-7", "..", "", "/etc", "data/../..", "database"])
def test_a_store_file_that_names_no_data_directory_is_an_error(home: Path, text: str) -> None:
    """The error lists the existing data directories, and nothing is deleted."""
    (home / "data-2").mkdir()
    (home / "store").write_text(text, encoding="utf-8")
    for function in (
        data_directories.current,
        data_directories.stale_names,
        data_directories.delete_stale,
    ):
        with pytest.raises(UnavailableError, match="data, data-2") as caught:
            function(home)
        assert str(home / "store") in caught.value.message
    assert (home / "data").is_dir()
    assert (home / "data-2").is_dir()


def test_nothing_is_deleted_if_it_is_unknown_which_directory_is_current(home: Path) -> None:
    """No file names the current directory, and the first directory does not exist."""
    (home / "data").rename(home / "data-1")
    with pytest.raises(UnavailableError, match="is missing"):
        data_directories.delete_stale(home)
    assert (home / "data-1").is_dir()


def test_a_new_data_directory_gets_a_copy_of_the_system_database(home: Path) -> None:
    """The copy includes the users and the server's id, but not the graph."""
    for name in (
        "databases/system/store",
        "transactions/system/log",
        "databases/neo4j/store",
        "server_id",
    ):
        (home / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (home / "data" / name).write_text(name, encoding="utf-8")
    new = data_directories.new_directory(home)
    (new / "databases" / "neo4j").mkdir(parents=True)  # the import creates this folder
    data_directories.copy_system_data(home / "data", new)
    copied = {
        str(path.relative_to(new)): path.read_text(encoding="utf-8")
        for path in new.rglob("*")
        if path.is_file()
    }
    assert copied == {
        name: name for name in ("databases/system/store", "transactions/system/log", "server_id")
    }
