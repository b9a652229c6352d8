"""An experiment merged from shards equals an undivided one."""

from pathlib import Path

import pytest
from sqlalchemy import Engine

from starcast.experiments.design import Design
from starcast.experiments.exchange import merge_experiment, run_shard
from starcast.experiments.running import run_experiment
from starcast.stores.database import repository
from starcast.stores.database.sessions import open_session
from starcast.support.errors import InputError, NotFoundError
from starcast.support.progress import Silent
from starcast.support.shards import Shard
from support.experiments import FAULTY, figures, runs
from support.fix_cli import Starcast

DESIGN = Design((FAULTY,))


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The files of the three shards of an experiment."""
    folder = tmp_path_factory.mktemp("parts")
    files = [folder / f"{index}.json.gz" for index in (1, 2, 3)]
    done = [
        run_shard("divided", DESIGN, Shard(index, 3), file, Silent(), jobs=1)
        for index, file in enumerate(files, start=1)
    ]
    assert sum(done) == len(DESIGN.points())
    assert min(done) > 0
    return files


@pytest.mark.slow
def test_an_experiment_merged_from_shards_equals_an_undivided_one(
    engine: Engine, parts: list[Path]
) -> None:
    merged = merge_experiment(engine, parts)
    assert (merged.name, merged.created, merged.kept) == ("divided", len(DESIGN.points()), 0)
    run_experiment(engine, "undivided", DESIGN, Silent(), jobs=1)
    assert figures(engine, "divided") == figures(engine, "undivided")
    assert {run.provenance["shard"] for run in runs(engine, "divided")} == {"1/3", "2/3", "3/3"}
    again = run_experiment(engine, "divided", DESIGN, Silent())
    assert (again.kept, again.created) == (len(DESIGN.points()), 0)
    assert merge_experiment(engine, parts).created == 0


def test_merging_without_all_shards_stores_nothing(engine: Engine, parts: list[Path]) -> None:
    with pytest.raises(InputError, match="1 shard is missing: 2/3"):
        merge_experiment(engine, [parts[0], parts[2]])
    with open_session(engine) as session, pytest.raises(NotFoundError):
        repository.load_experiment(session, "divided")


def test_the_command_writes_and_merges_shards(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Running a shard needs no server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STARCAST_POSTGRES_URI", "postgresql://starcast@127.0.0.1:1/nothing")
    grid = ("--topology", "S4", "--algorithm", "multiple", "--segments", "2", "-m", "8")
    written = starcast("experiment", "run", "e", *grid, "--shard", "1/2", "--out", "e.json")
    assert (written.code, written.err) == (0, "shard 1/2 of 'e': 1 run written to e.json\n")
    refused = starcast("experiment", "merge", "e.json")
    assert refused.code in {2, 4}
