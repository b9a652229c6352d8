"""`starcast new` writes plug-ins that work without changes."""

import shlex
from pathlib import Path
from typing import get_args

import pytest

from starcast import Lab
from starcast.support.errors import InputError
from starcast.support.settings import Settings
from starcast.support.vocabulary import PluginKind
from support.fix_cli import Starcast, refused

KINDS = get_args(PluginKind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_plug_in_works_without_changes(
    starcast: Starcast, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"own-{kind}2"
    written = starcast(f"new {kind} {name} --folder plugins")
    assert (written.code, written.out) == (0, f"plugins/own_{kind}2.py\n")
    text = (tmp_path / written.out.strip()).read_text(encoding="utf-8")
    assert not {"NAME", "FUNCTION", "SPEC"} & {*text.replace('"', " ").split()}
    assert len(text.splitlines()) < 25
    command = (
        written.err.strip().removeprefix("edit the file, then run 'starcast ").removesuffix("'")
    )
    used = starcast(command, "--format", "json")
    assert used.code == 0, used.err
    facts = used.json
    if kind == "construction":
        assert facts["id"] == f"S4:{name}:1234"
        assert facts["spanning"]
        assert facts["shortest_path"]
    elif kind == "algorithm":
        assert facts["complete"]
        assert (facts["rows"], facts["steps"]) == (23, 4)
    else:
        # The topology is a wheel graph, here with six nodes around its hub.
        assert (facts["nodes"], facts["links"], facts["diameter"]) == (7, 12, 2)
    before = text
    again = starcast(f"new {kind} {name} --folder plugins")
    assert refused(again, 2)[0] == f"{written.out.strip()} already exists"
    assert (tmp_path / written.out.strip()).read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("planet", "mine", "'planet' is not a kind of plug-in"),
        ("family", "Mine", "'Mine' is not a valid name"),
        ("family", "mine/own", "'mine/own' is not a valid name"),
        ("family", "a" * 300, "is not a valid name"),
    ],
)
def test_starcast_new_refuses_invalid_kinds_and_names(
    kind: PluginKind, name: str, message: str, tmp_path: Path
) -> None:
    with Lab(Settings.load()) as lab, pytest.raises(InputError) as refusal:
        lab.new_plugin(kind, name, folder=tmp_path)
    assert message in refusal.value.message
    assert list(tmp_path.iterdir()) == []


def test_the_error_of_starcast_new_names_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with Lab(Settings.load()) as lab, pytest.raises(InputError) as refusal:
        lab.new_plugin("family", "for", folder=tmp_path / "file")
    assert str(tmp_path / "file") in refusal.value.message


@pytest.mark.parametrize("name", ["for", "random", "numpy"])
def test_a_plug_in_can_be_named_like_a_python_keyword_or_module(name: str, tmp_path: Path) -> None:
    with Lab(Settings.load()) as lab:
        assert lab.new_plugin("construction", name, folder=tmp_path).name == f"{name}_.py"


@pytest.mark.slow
@pytest.mark.usefixtures("servers")
def test_a_new_construction_can_be_ingested(starcast: Starcast, tmp_path: Path) -> None:
    path = starcast("new construction own-trees --folder", tmp_path).out.strip()
    stored = starcast(f"--plugin {shlex.quote(path)} ingest S4 --trees own-trees")
    assert stored.code == 0, stored.err
    assert "S4:own-trees:1234" in stored.out
