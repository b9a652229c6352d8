"""Backups are restored completely into empty stores; damaged files are refused."""

import json
import shutil
import subprocess
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from neo4j import Driver
from sqlalchemy import URL, Engine, text

from campaign.proxy import Proxy
from starcast.catalogue.plugins import PluginMissingError
from starcast.embedded.programs import find_pg_restore
from starcast.experiments.design import Grid
from starcast.experiments.running import run_experiment
from starcast.ingest import ingest, open_stores, parse_request, rebuilding
from starcast.ingest.both_stores import Stores
from starcast.ingest.rebuilding import back_up, rebuild, restore
from starcast.ingest.verification import verify
from starcast.stores import GraphAddress, Role
from starcast.stores.database import backup, dumps, migrations, sessions
from starcast.stores.database.backup import REBUILDING
from starcast.stores.graph.audit import OwnershipError
from starcast.stores.graph.reader import read_artifact_nodes
from starcast.support.errors import BusyError, InputError, RejectedError, UnavailableError
from starcast.support.progress import ProgressLines, Silent
from support.claim_runs import check_and_store
from support.fix_cli import Starcast, name_store
from support.fix_plugins import load_examples
from support.fix_servers import (
    empty,
    environment_for,
    execute,
    new_database,
    plain_url,
    scalars,
    settings_for,
)
from support.fix_store import HEAD, NEXT, all_rows
from support.plans import plan
from support.workers import running_command, wait_until

PG_RESTORE = find_pg_restore(18)
STORED = ("S4", "S4:multiple:1234", "S4:broadcast:multiple:all:segments=1:1234")


@pytest.fixture
def stored(stores: Stores) -> Engine:
    """The engine of a database with artifacts, runs and verdicts; Neo4j has the artifacts too."""
    ingest(stores, parse_request("S4", trees="multiple", schedules="multiple"))
    grid = Grid({
        "topology": "S4", "collective": "broadcast", "algorithm": ["multiple", "greedy"],
        "message_bytes": ["64", "23/3"],
    })  # fmt: skip
    run_experiment(stores.engine, "e", grid, Silent(), jobs=1)
    check_and_store(stores.engine, ["TS.L1"])
    return stores.engine


@pytest.fixture(scope="module")
def kept_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of the shared backup file."""
    return tmp_path_factory.mktemp("backup") / "store.backup"


@pytest.fixture
def file(kept_file: Path, request: pytest.FixtureRequest) -> Path:
    """A backup file shared by all tests, written by the reader role when a test first needs it."""
    if not kept_file.exists():
        names = ("stored", "graph_address", "role_url")
        stored, address, role_url = map(request.getfixturevalue, names)
        back_up(settings_for(role_url(stored.url, "reader"), address), kept_file)
    return kept_file


@pytest.fixture(
    params=["without tables", pytest.param("with empty tables", marks=pytest.mark.slow)]
)
def target(bare: Engine, request: pytest.FixtureRequest) -> Engine:
    if request.param == "with empty tables":
        migrations.upgrade(bare, Silent())
    return bare


def test_a_restored_store_equals_the_original_and_its_graph_is_rebuilt(
    stored: Engine,
    target: Engine,
    clean_graph: GraphAddress,
    graph_driver: Driver,
    role_url: Callable[[URL, Role], URL],
    tmp_path: Path,
) -> None:
    file = tmp_path / "store.backup"
    back_up(settings_for(role_url(stored.url, "reader"), clean_graph), file)
    before = all_rows(stored)
    empty(clean_graph, graph_driver)
    settings = settings_for(target.url, clean_graph)
    lines: list[str] = []
    restore(settings, file, ProgressLines(lines.append))
    texts = ("restored and verified", "rebuilding the graph")
    rows, graph = (min(i for i, line in enumerate(lines) if each in line) for each in texts)
    assert rows < graph
    after = all_rows(target)
    # Rebuilding the graph loads the artifacts again, which changes time stamps in two tables.
    assert len(after.pop("materialization")) == len(before.pop("materialization")) == 3
    forests = [json.loads(row) for found in (after, before) for row in found.pop("forest")]
    assert len(forests) == 2
    assert forests[0] | {"created_at": ""} == forests[1] | {"created_at": ""}
    assert after == before
    assert migrations.differences(target) == []
    with open_stores(settings) as stores:
        assert verify(stores) == []
    writer = sessions.connect(role_url(target.url, "writer"))
    grid = Grid({
        "topology": "S3", "collective": "broadcast", "algorithm": "multiple", "message_bytes": 1,
    })  # fmt: skip
    assert run_experiment(writer, "new", grid, Silent(), jobs=1).created == 1
    writer.dispose()


@pytest.mark.slow
def test_a_backup_of_an_old_revision_is_restored_and_upgraded(
    file: Path, target: Engine, add_revision: Callable[[], None]
) -> None:
    add_revision()
    manifest = backup.restore(target, file)
    assert (manifest.revision, migrations.current(target)) == (HEAD, NEXT)
    migrations.check(target)
    assert scalars(target, "select count(*) from run_summary") == [4]


@pytest.mark.slow
@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("place", ["postgres", "neo4j"])
def test_a_restore_into_a_nonempty_store_is_refused_and_changes_nothing(
    file: Path, bare: Engine, clean_graph: GraphAddress, graph_driver: Driver, place: str
) -> None:
    migrations.upgrade(bare, Silent())
    if place == "postgres":
        empty(clean_graph, graph_driver)
        execute(bare, "insert into experiment (name) values ('mine')")
    before = all_rows(bare)
    found = {
        "postgres": "the store is not empty: it has 1 row in experiment",
        "neo4j": "the graph store is not empty: it contains S4",
    }[place]
    with pytest.raises(RejectedError, match=found):
        restore(settings_for(bare.url, clean_graph), file, Silent())
    assert all_rows(bare) == before


@pytest.mark.slow
def test_restore_with_replace_replaces_both_stores_even_if_a_plug_in_is_missing(
    file: Path,
    bare: Engine,
    clean_graph: GraphAddress,
    registries: Callable[[], None],
    tmp_path: Path,
) -> None:
    """If a backup needs a missing plug-in, only rows are restored, and the error names it."""
    migrations.upgrade(bare, Silent())
    settings = settings_for(bare.url, clean_graph)
    load_examples()
    with open_stores(settings) as stores:
        rebuild(stores, replace=True)  # the graph belongs to another database
        assert artifact_ids(stores) == set()
        ingest(stores, plan("R4", ["breadth-first"]))
    back_up(settings, tmp_path / "own.backup")
    registries()
    restore(settings, file, Silent(), replace=True)
    with open_stores(settings) as stores:
        assert artifact_ids(stores) == set(STORED)
        assert verify(stores) == []
    with pytest.raises(
        PluginMissingError, match=r"restored, but the graph was not rebuilt: .*'bi-rotator'"
    ):
        restore(settings, tmp_path / "own.backup", Silent(), replace=True)
    load_examples()
    with open_stores(settings) as stores:
        rebuild(stores, replace=True)
        assert artifact_ids(stores) == {"R4", "R4:breadth-first:1234"}
        assert verify(stores) == []


def test_a_graph_of_another_program_prevents_a_restore(
    file: Path, bare: Engine, clean_graph: GraphAddress, graph_driver: Driver
) -> None:
    """The graph could not be rebuilt afterwards, so the rows are not replaced either."""
    empty(clean_graph, graph_driver)
    graph_driver.execute_query("CREATE (:Person)")
    with pytest.raises(OwnershipError, match="belongs to another program"):
        restore(settings_for(bare.url, clean_graph), file, Silent(), replace=True)
    assert all_rows(bare) == {}


def test_an_error_after_a_restore_states_that_the_rows_were_restored(
    file: Path,
    bare: Engine,
    clean_graph: GraphAddress,
    graph_driver: Driver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise UnavailableError("Neo4j has stopped", hint="start it")

    empty(clean_graph, graph_driver)
    settings = settings_for(bare.url, clean_graph)
    monkeypatch.setattr(rebuilding, "rebuild", fail)
    with pytest.raises(UnavailableError) as caught:
        restore(settings, file, Silent())
    assert caught.value.message == (
        "the rows were restored, but the graph was not rebuilt: Neo4j has stopped"
    )
    assert caught.value.hint == "start it; then run 'starcast graph rebuild'"
    with open_stores(settings) as stores:
        rebuild(stores)
        assert artifact_ids(stores) == set(STORED)


def artifact_ids(stores: Stores) -> set[str]:
    """Return the ids of the artifacts in the graph."""
    return {artifact_id for _, artifact_id in read_artifact_nodes(stores.graph)}


def test_a_restore_into_a_database_of_another_program_is_refused(bare: Engine, file: Path) -> None:
    execute(bare, "create table invoice as select 1 as id")
    with pytest.raises(RejectedError, match="another program, such as 'invoice'"):
        backup.restore(bare, file)
    assert list(all_rows(bare)) == ["invoice"]


def damaged(file: Path) -> Iterator[tuple[str, bytes]]:
    data = file.read_bytes()
    for part in (0, 1, 50, len(data) // 2, len(data) - 30, len(data) - 1):
        yield f"first {part} bytes", data[:part]
    for place in (len(data) // 3, len(data) // 2):
        yield f"byte {place}", data[:place] + bytes([data[place] ^ 255]) + data[place + 1 :]
    yield "text", b"create table run ();\n" * 100
    yield "noise", bytes(range(256)) * 40


def test_a_damaged_or_foreign_file_is_refused_before_anything_changes(
    file: Path, bare: Engine, tmp_path: Path, starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrations.upgrade(bare, Silent())
    before = all_rows(bare)
    name_store(monkeypatch, bare.url)
    for number, (name, data) in enumerate(damaged(file)):
        broken = tmp_path / f"broken-{number}"
        broken.write_bytes(data)
        result = starcast("restore", str(broken), "--no-graph")
        assert result.code == 2, name
        assert "is not a complete backup of starcast" in result.err, name
        assert "nothing was changed" in result.err
    archive = tmp_path / "other.zip"
    with zipfile.ZipFile(archive, "w") as other:
        other.writestr("readme", "x")
    for path in (tmp_path, tmp_path / "missing", archive):
        assert starcast("restore", str(path), "--no-graph").code == 2
    assert all_rows(bare) == before


def rewrite(file: Path, changed: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Write a copy of a backup with a changed manifest, and return the path of the copy."""
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(changed, "w") as new:
        manifest = json.loads(old.read("manifest.json"))
        change(manifest)
        for name in old.namelist():
            content = json.dumps(manifest) if name == "manifest.json" else old.read(name)
            new.writestr(name, content)
    return changed


def other_checksum(manifest: dict[str, Any]) -> None:
    manifest["tables"]["run"]["checksum"] = "1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (other_checksum, "the restored rows of some tables differ from the backup: run"),
        (lambda manifest: manifest.update(revision="9999"), "that this starcast supports"),
        (lambda manifest: manifest.update(revision="0003"), "too old: this starcast upgrades only"),
    ],
)
def test_a_failed_restore_leaves_an_empty_store(
    file: Path,
    target: Engine,
    tmp_path: Path,
    change: Callable[[dict[str, Any]], None],
    message: str,
) -> None:
    with pytest.raises(RejectedError, match=message):
        backup.restore(target, rewrite(file, tmp_path / "changed", change))
    assert migrations.current(target) is None or backup.count_rows(target) == {}
    backup.restore(target, file)
    assert backup.count_rows(target)["run"] == 4


def test_a_failed_replacement_restores_the_previous_content(
    file: Path, bare: Engine, role_url: Callable[[URL, Role], URL], tmp_path: Path
) -> None:
    """After the failure, the rows and the access rights are the same as before."""
    backup.restore(bare, file)
    before, keep = all_rows(bare), tmp_path / "all before.backup"
    changed = rewrite(file, tmp_path / "changed", other_checksum)
    with pytest.raises(RejectedError, match="differ from the backup: run"):
        backup.restore(bare, changed, keep=keep)
    assert all_rows(bare) == before
    assert migrations.differences(bare) == []
    reader = sessions.connect(role_url(bare.url, "reader"))
    assert backup.count_rows(reader) == backup.count_rows(bare)
    reader.dispose()
    backup.restore(bare, keep, keep=tmp_path / "again.backup")
    assert all_rows(bare)["experiment"] == before["experiment"]
    assert backup.read_manifest(tmp_path / "again.backup").rows == backup.read_manifest(keep).rows


def test_an_empty_store_is_replaced_without_a_backup(migrated: Engine, tmp_path: Path) -> None:
    backup.create(migrated, tmp_path / "own.backup")
    backup.restore(migrated, tmp_path / "own.backup", keep=tmp_path / "nothing.backup")
    assert not (tmp_path / "nothing.backup").exists()


def test_a_refused_backup_keeps_the_earlier_file(migrated: Engine, tmp_path: Path) -> None:
    target = tmp_path / "store.backup"
    target.write_bytes(b"an earlier backup")
    execute(migrated, "drop table record")
    with pytest.raises(RejectedError, match="because tables or rows are missing: record"):
        backup.create(migrated, target)
    assert target.read_bytes() == b"an earlier backup"
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(InputError, match="cannot be written"):
        backup.create(migrated, tmp_path / "missing" / "x")


@pytest.mark.slow
def test_a_backup_is_one_snapshot_even_if_another_session_writes(
    stored: Engine, tmp_path: Path
) -> None:
    """Rows and manifest of the file both omit transactions that commit during the backup."""
    stop = threading.Event()

    def keep_writing() -> None:
        while not stop.is_set():
            execute(stored, "insert into experiment (name) values ('x' || gen_random_uuid())")

    with ThreadPoolExecutor() as pool:
        pool.submit(keep_writing)
        try:
            manifests = [backup.create(stored, tmp_path / str(i)) for i in range(3)]
        finally:
            stop.set()
    assert manifests[2].tables["experiment"].rows > manifests[0].tables["experiment"].rows
    assert backup.read_manifest(tmp_path / "2") == manifests[2]


def write_dump(engine: Engine, file: Path, tables: str = "public.*") -> Path:
    """Write a backup in the first format, with a dump by pg_dump, and return its path."""
    with engine.connect() as connection:
        manifest = json.loads(backup._describe(connection).model_dump_json())
    manifest["format"] = "starcast backup 1"
    manifest["tables"]["alembic_version"] = {"rows": 1, "checksum": "1"}
    command = [
        str(PG_RESTORE.with_name("pg_dump")),
        "--format=custom",
        "--no-owner",
        "--no-privileges",
    ]
    command += [f"--table={tables}", f"--dbname={plain_url(engine.url)}"]
    dump = subprocess.run(command, check=True, capture_output=True).stdout
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("postgres.dump", dump)
        archive.writestr("manifest.json", json.dumps(manifest))
    return file


#: The pattern by which pg_dump selects the tables of a store, but not its views.
TABLES = "public.(store|family|topology|forest|tree|schedule*|materialization|experiment|run|cost"
TABLES += "|step_profile|claim_run|claim_evidence|claim_verdict|record|network|node_key"
TABLES += "|alembic_version{})"


def test_a_backup_of_the_first_format_is_restored_without_executing_its_dump(
    migrated: Engine, store_url: URL, tmp_path: Path
) -> None:
    """A dump with a trigger, a function or an extra table is refused and not executed."""
    execute(
        migrated,
        "insert into experiment (name) values ('e')",
        r"insert into family values ('odd', E'\\\\.\\n\\\\.\\té')",
    )
    file = write_dump(migrated, tmp_path / "first.backup", TABLES.format(""))
    before = all_rows(migrated)
    with new_database(store_url) as url:
        target = sessions.connect(url)
        backup.restore(target, file, decoder=PG_RESTORE)
        assert all_rows(target) == before
        assert migrations.differences(target) == []
        execute(
            migrated,
            "create function strike() returns trigger language plpgsql as"
            " 'begin drop table if exists record; return new; end'",
            "create trigger strike before insert on experiment"
            " for each row execute function strike()",
        )
        triggered = write_dump(migrated, tmp_path / "trigger.backup", TABLES.format(""))
        execute(migrated, "drop trigger strike on experiment", "create table invoice (id int)")
        extended = write_dump(migrated, tmp_path / "table.backup", TABLES.format("|invoice"))
        for changed, message in (
            (triggered, "another program, the trigger public experiment"),
            (extended, "the tables of its dump differ from those of its manifest"),
        ):
            with pytest.raises(InputError, match=message):
                backup.restore(target, changed, keep=tmp_path / "kept.backup", decoder=PG_RESTORE)
            assert all_rows(target) == before
        target.dispose()


EXPERIMENT = b"created_at\tgrid\tid\tname\tpoints\n"


@pytest.mark.whole
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            EXPERIMENT.replace(b"\tpoints", b""),
            "table experiment has unexpected columns: created_at,",
        ),
        (EXPERIMENT.replace(b"grid", b"mine"), "experiment has unexpected columns: created_at, m"),
        (EXPERIMENT + b"now\t{}\t1\te\t\\N\nnow\t{}\t2\tf\t\\N\n", "differ from the backup: exp"),
        (EXPERIMENT + b"now\t{}\tx\te\t\\N\n", "cannot be restored: invalid input syntax"),
        (EXPERIMENT + b"now\t{}\t1\t';drop table run\t\\N\n", "violates check constraint"),
        (b"", "its table experiment has unexpected columns"),
        (None, "its parts differ from those listed in its manifest.json"),
    ],
)
def test_a_forged_backup_is_refused_and_the_store_is_unchanged(
    migrated: Engine, tmp_path: Path, content: bytes | None, message: str
) -> None:
    execute(migrated, "insert into experiment (name) values ('e')")
    file, before = tmp_path / "own.backup", all_rows(migrated)
    backup.create(migrated, file)
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(tmp_path / "forged", "w") as new:
        for name in old.namelist():
            changed = name == "experiment.copy" and content is not None
            new.writestr(name, content if changed else old.read(name))  # type: ignore[arg-type]
        if content is None:
            new.writestr("invoice.copy", b"id\n")
    with pytest.raises((InputError, RejectedError), match=message):
        backup.restore(migrated, tmp_path / "forged", keep=tmp_path / "kept.backup")
    assert all_rows(migrated) == before
    assert migrations.differences(migrated) == []


def test_a_restore_fails_if_pg_restore_hangs_or_reports_an_error(
    migrated: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_dump(migrated, tmp_path / "first.backup", TABLES.format(""))
    stuck = tmp_path / "pg_restore"
    monkeypatch.setattr(dumps, "_DECODER_SECONDS", 0.2)
    for script, error, message in (
        ("exec sleep 60", UnavailableError, "pg_restore has written nothing for"),
        ("echo 'pg_restore: error: no'>&2; exit 1", InputError, "cannot read the dump .* no"),
    ):
        stuck.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        stuck.chmod(0o755)
        with pytest.raises(error, match=message):
            backup.restore(migrated, file, decoder=stuck)
    migrations.check(migrated)


def test_a_missing_pg_restore_for_the_version_of_a_dump_is_reported() -> None:
    with pytest.raises(UnavailableError, match="a dump of PostgreSQL 99, but no pg_restore"):
        find_pg_restore(99)


def test_a_store_with_rows_is_locked_before_it_is_replaced(
    migrated: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An uncommitted row blocks the restore; once committed, the row is in the kept backup."""
    monkeypatch.setattr(migrations, "UPGRADE_SECONDS", 1)
    file = tmp_path / "own.backup"
    execute(migrated, "insert into experiment (name) values ('e')")
    backup.create(migrated, file)
    with migrated.connect() as other:
        other.execute(text("insert into experiment (name) values ('late')"))
        with pytest.raises(BusyError, match="stopped waiting for another transaction"):
            backup.restore(migrated, file, keep=tmp_path / "kept.backup")
        other.commit()
    backup.restore(migrated, file, keep=tmp_path / "kept.backup")
    assert backup.read_manifest(tmp_path / "kept.backup").tables["experiment"].rows == 2
    assert scalars(migrated, "select name from experiment") == ["e"]


def test_no_artifact_is_complete_after_a_restore_without_the_graph(
    stored: Engine, bare: Engine, tmp_path: Path
) -> None:
    backup.create(stored, tmp_path / "own.backup")
    backup.restore(bare, tmp_path / "own.backup")
    states = scalars(bare, "select distinct state || ': ' || error from materialization")
    assert states == [f"failed: {REBUILDING}"]


def test_a_backup_during_a_restore_contains_the_restored_rows(
    migrated: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The backup waits for the end of the restore, which has replaced the tables."""
    file = tmp_path / "store.backup"
    execute(migrated, "insert into experiment (name) values ('mine')")
    before = backup.create(migrated, file)
    begun = threading.Event()
    blocked = "select 1 from pg_locks where not granted"

    def verify_later(*given: Any) -> None:
        begun.set()
        wait_until(lambda: scalars(migrated, blocked))
        verify_rows(*given)

    verify_rows = backup._verify
    monkeypatch.setattr(backup, "_verify", verify_later)
    with ThreadPoolExecutor() as pool:
        restored = pool.submit(backup.restore, migrated, file, keep=tmp_path / "kept.backup")
        begun.wait(60)
        assert backup.create(migrated, file).tables == before.tables
        restored.result(60)


@pytest.mark.slow
def test_a_killed_restore_leaves_the_old_or_the_new_rows(migrated: Engine, tmp_path: Path) -> None:
    """The first kill comes so early that the old rows remain."""
    insert = "insert into experiment (name) select 'e' || i from generate_series(1, 20000) as i"
    execute(migrated, insert)
    restored = all_rows(migrated)
    backup.create(migrated, tmp_path / "own.backup")
    execute(migrated, "insert into experiment (name) values ('late')")
    before = all_rows(migrated)
    words = ("restore", str(tmp_path / "own.backup"), "--no-graph", "--replace")
    environment = environment_for(migrated.url, tmp_path) | {"STARCAST_HOME": str(tmp_path)}
    found = []
    for delay in range(8):
        with running_command(environment, *words) as process:
            kept = tmp_path / "backups"
            wait_until(lambda: process.poll() is not None or kept.exists())  # noqa: B023
            time.sleep(delay / 5)
            process.kill()
        shutil.rmtree(kept)
        found.append(all_rows(migrated))
        if found[-1] != before:
            break
    assert found[0] == before
    assert found[-1] in (before, restored)


@pytest.mark.slow
def test_a_backup_fails_if_the_server_stops_answering(
    migrated: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server stops answering while it sends the rows."""
    monkeypatch.setattr(sessions, "SILENT_SECONDS", 2.0)
    monkeypatch.setattr(sessions, "PROBE_SECONDS", 1)
    execute(migrated, "insert into experiment (name) values ('e')")
    proxy = Proxy(migrated.url.port or 0)
    through = sessions.connect(migrated.url.set(port=proxy.port))
    content = backup._content

    def fall_silent(*given: Any) -> backup.TableContent:
        proxy.is_silent = given[1] == "tree"
        return content(*given)

    monkeypatch.setattr(backup, "_content", fall_silent)
    began = time.monotonic()
    with pytest.raises(UnavailableError, match="has not answered"):
        backup.create(through, tmp_path / "x")
    assert time.monotonic() - began < 20
    assert list(tmp_path.iterdir()) == []
    through.dispose()
    proxy.close()
