"""Neo4j's data directories: which one is in force, and what goes."""

from pathlib import Path

import pytest

from starcast.embedded import data_directories
from starcast.errors import UnavailableError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Neo4j's home with the first data directory, as a first start leaves it."""
    (tmp_path / "data" / "databases" / "system").mkdir(parents=True)
    return tmp_path


def test_without_a_pointer_it_is_the_first(tmp_path: Path) -> None:
    """In a home that has not run too, where it is not there yet; looking makes nothing."""
    assert data_directories.current(tmp_path) == tmp_path / "data"
    assert data_directories.leftovers(tmp_path) == []
    data_directories.sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_changing_over_and_sweeping(home: Path) -> None:
    """The pointer decides alone: before it changes the fresh directory goes, afterwards the old one; nothing else ever does."""
    (home / "conf").mkdir()
    (home / "database").mkdir()  # not one of ours, whatever it is
    for turn in range(3):
        old, fresh = data_directories.current(home), data_directories.fresh(home)
        assert not fresh.exists()
        fresh.mkdir()
        if turn == 1:
            data_directories.staging(home).mkdir()
            data_directories.sweep(home)
            assert not fresh.exists()
            assert not data_directories.staging(home).exists()
            assert data_directories.current(home) == old
            continue
        data_directories.point(fresh)
        assert data_directories.current(home) == fresh
        assert data_directories.leftovers(home) == [old.name]
        data_directories.sweep(home)
        assert not old.exists()
    assert (home / "conf").is_dir()
    assert (home / "database").is_dir()


@pytest.mark.parametrize("said", ["data-7", "..", "", "/etc", "data/../..", "database"])
def test_a_pointer_that_names_no_data_directory(home: Path, said: str) -> None:
    """It is named with what there is, and nothing is removed."""
    (home / "data-2").mkdir()
    (home / "store").write_text(said, encoding="utf-8")
    for look in (data_directories.current, data_directories.leftovers, data_directories.sweep):
        with pytest.raises(UnavailableError, match="data, data-2") as caught:
            look(home)
        assert str(home / "store") in caught.value.message
    assert (home / "data").is_dir()
    assert (home / "data-2").is_dir()


def test_a_pointer_that_was_lost(home: Path) -> None:
    """Without the first directory the others are not taken for leftovers."""
    (home / "data").rename(home / "data-1")
    with pytest.raises(UnavailableError, match="is missing"):
        data_directories.sweep(home)
    assert (home / "data-1").is_dir()


def test_a_fresh_directory_takes_over_what_is_no_graph(home: Path) -> None:
    """Users and the server's identity, not the database of the graph."""
    for name in (
        "databases/system/store",
        "transactions/system/log",
        "databases/neo4j/store",
        "server_id",
    ):
        (home / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (home / "data" / name).write_text(name, encoding="utf-8")
    fresh = data_directories.fresh(home)
    (fresh / "databases" / "neo4j").mkdir(parents=True)  # the import's
    data_directories.take_over(home / "data", fresh)
    found = {
        str(path.relative_to(fresh)): path.read_text(encoding="utf-8")
        for path in fresh.rglob("*")
        if path.is_file()
    }
    assert found == {
        name: name for name in ("databases/system/store", "transactions/system/log", "server_id")
    }
