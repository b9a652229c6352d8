"""Publishing a static site without a running server: names of files, and replacing a site."""

import asyncio
import json
import os
import re
import resource
import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest

from starcast.support.errors import InputError, LimitError, StarcastError, UnavailableError
from starcast.support.settings import Settings
from starcast.web.publishing import Publishing
from starcast.web.site import MANIFEST, Site, file_name, file_of, read_manifest, write_site
from support.recorder import Recorder

OLD = {"index.html": b"old", "claims/TS.L5.html": b"old", MANIFEST: b""}
NAMES = ("e1", "a/b", "a-b", "a:b", "a~b", "../../etc", ".", "..", "", "-", "'\"<b>&",
         "<i>", "näme", "n" * 300, "n" * 301, "a\nb", "a b", "%2F", "~",
         "S4:record(problem=p,c=2):1234")  # fmt: skip


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a folder that contains a site of two pages."""
    folder = tmp_path / "site"
    listed = json.dumps({"files": sorted(OLD)}).encode()
    write_site(folder, {**OLD, MANIFEST: listed})
    return folder


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


def test_artifact_names_give_distinct_file_names_of_safe_characters_and_limited_length() -> None:
    names = [file_name(name) for name in NAMES]
    assert len({name.casefold() for name in names}) == len(NAMES)
    for name in names:
        assert re.fullmatch(r"[\w,=()~][\w.,=()~-]{,158}", name, re.ASCII)


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("/", "index.html"),
        ("/claims/TS.L5", "claims/TS.L5.html"),
        ("/records/congestion-trees%3AS4", "records/congestion-trees~S4.html"),
        ("/api/v1/experiments/v1.2.csv", "experiments/v1.2.csv"),
        ("/api/v1/compare.json?name=e1", "compare/e1.json"),
        ("/api/v1/records/a%3AS4/witness/parent_port", "records/a~S4/witness/parent_port.npy"),
    ],
)
def test_urls_of_pages_and_resources_are_mapped_to_file_names_of_the_static_site(
    url: str, file: str
) -> None:
    assert file_of(url) == file


def test_urls_with_different_query_parameters_give_different_file_names() -> None:
    urls = ("/compare?name=a&name=b", "/compare?name=b&name=a", "/compare?name=a%2Cb")
    assert len({file_of(url) for url in urls}) == 3


def test_a_new_static_site_replaces_the_earlier_site(site: Path) -> None:
    assert read_manifest(site) == OLD.keys()
    write_site(site, {"index.html": b"new"})
    assert contents(site) == {"index.html": "new"}
    assert [path.name for path in site.parent.iterdir()] == ["site"]


def test_if_the_disk_is_full_the_earlier_static_site_is_kept(site: Path) -> None:
    """The test limits the size of files, which has the same effect as a full disk."""
    before = contents(site)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(LimitError, match=f"{site} cannot be written"):
            write_site(site, {"a.html": b"new", "b.html": b"x" * 2_000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert contents(site) == before
    assert [path.name for path in site.parent.iterdir()] == ["site"]


def test_a_site_is_not_published_in_a_folder_with_files_that_starcast_did_not_write(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (site / "claims" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"did not write, such as claims/notes\.txt"):
        read_manifest(site)
    mine = tmp_path / "mine"
    mine.mkdir()
    assert read_manifest(mine) == read_manifest(tmp_path / "new") == set()
    for content in ("", "{}", "[1]", '{"files": 3}'):
        (mine / MANIFEST).write_text(content)
        with pytest.raises(InputError, match="not a folder that an earlier"):
            read_manifest(mine)
    with pytest.raises(InputError, match="not a folder that an earlier"):
        read_manifest(mine / MANIFEST)
    (mine / MANIFEST).unlink()
    (mine / MANIFEST).mkdir()
    (mine / "other.txt").touch()
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_manifest(mine)
    with monkeypatch.context() as protected:
        protected.setattr(os, "scandir", Mock(side_effect=PermissionError(13, "Permission denied")))
        with pytest.raises(InputError, match="cannot be read: Permission denied"):
            read_manifest(mine)


def test_a_static_site_can_be_published_again_after_one_of_its_files_was_deleted(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (site / "claims" / "TS.L5.html").unlink()
    monkeypatch.setattr(Site, "build", lambda *_: {**OLD, "index.html": b"new"})
    Publishing(Settings.load(home=site.parent / "home")).publish(site)
    assert contents(site)["index.html"] == "new"


@pytest.mark.parametrize(
    ("ids", "message"),
    [("X4", "unknown topology 'X4'"), ("S4:none", "none"), ("S9", "362,880 nodes")],
)
def test_publishing_an_artifact_that_does_not_exist_or_is_too_large_is_an_error(
    tmp_path: Path, ids: str, message: str
) -> None:
    settings = Settings.load(home=tmp_path / "home")
    with pytest.raises(StarcastError, match=message):
        Publishing(settings).publish(tmp_path / "site", ids)
    assert not (tmp_path / "site").exists()


def test_the_free_disk_space_is_checked_before_the_pages_of_a_site_are_rendered(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(site)
    free = shutil.disk_usage(site)._replace(free=39 * 10**6)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
    with pytest.raises(LimitError, match=r"the site needs 40 MB .* its disk has only 39 MB free"):
        Publishing(Settings.load(home=site.parent / "home")).publish(site)
    assert contents(site) == before


class Stopping(Recorder):
    """A recorder that interrupts the computation at its third message."""

    def say(self, line: str) -> None:
        """Record a message, and raise KeyboardInterrupt at the third message."""
        super().say(line)
        if len(self.lines) == 3:
            raise KeyboardInterrupt


def test_progress_messages_count_the_rendered_pages_and_all_known_pages(tmp_path: Path) -> None:
    reporter = Stopping()
    with (
        Site(Settings.load(home=tmp_path), has_stores=False) as opened,
        pytest.raises(KeyboardInterrupt),
    ):
        opened.build(reporter)
    matches = [re.fullmatch(r"rendered (\S+) of (\S+) pages .*", line) for line in reporter.lines]
    counts = [[int(text.replace(",", "")) for text in found.groups()] for found in matches if found]
    assert [rendered for rendered, _ in counts] == [100, 200, 300]
    assert all(rendered <= known for rendered, known in counts)


def test_a_site_is_rendered_in_a_notebook(tmp_path: Path) -> None:
    """The thread of a notebook runs an event loop."""

    async def cell() -> set[str]:
        with Site(Settings.load(home=tmp_path), has_stores=False) as opened:
            return opened._read("/claims?paper=SLC")

    assert "/claims/SLC.L3" in asyncio.run(cell())


def test_publishing_fails_if_a_server_named_in_the_settings_is_not_running(tmp_path: Path) -> None:
    settings = Settings.load(postgres_uri="postgresql://visitor@127.0.0.1:1/none")
    with pytest.raises(UnavailableError):
        Publishing(settings).publish(tmp_path / "site")
    assert not (tmp_path / "site").exists()
