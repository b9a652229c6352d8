"""The declared comments, views, checks, indexes and rights, on a real PostgreSQL server."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import URL, Engine, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from starcast.claims.storage import newest_verdicts
from starcast.comparison.matching import figure, gap
from starcast.experiments.design import Grid
from starcast.experiments.running import run_experiment
from starcast.ingest import ingest, parse_request
from starcast.ingest.both_stores import Stores
from starcast.stores import Role
from starcast.stores.database import migrations, models, repository, sessions
from starcast.stores.database.repository import list_artifacts
from starcast.stores.database.views import VIEWS
from starcast.support.errors import UnavailableError
from starcast.support.progress import Silent
from support.claim_runs import check_and_store
from support.fix_cli import Starcast, name_store
from support.fix_servers import execute, new_database, scalars

ROOT = Path(__file__).parents[2]
COMMENTS = text("""
    select c.relname, a.attname, coalesce(col_description(c.oid, a.attnum), '')
    from pg_class as c join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'v')
        and not a.attisdropped and c.relname <> 'alembic_version'
    union all
    select c.relname, null, coalesce(obj_description(c.oid), '')
    from pg_class as c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'v')
        and c.relname <> 'alembic_version'
""")
CONSTRAINTS = """
    select conrelid::regclass || ' ' || conname || ': ' || pg_get_constraintdef(oid)
    from pg_constraint where connamespace = 'public'::regnamespace
        and conrelid::regclass::text <> 'alembic_version' and contype <> 'n'
    union all select tablename || ' ' || indexname || ': ' || indexdef from pg_indexes
    where schemaname = 'public' and tablename <> 'alembic_version'
"""


def declared_comments() -> set[tuple[str, str | None, str | None]]:
    """Return triples of table or view, column (None for the table itself), and comment."""
    comments: set[tuple[str, str | None, str | None]] = set()
    for table in models.Base.metadata.tables.values():
        comments.add((table.name, None, table.comment))
        comments |= {(table.name, column.name, column.comment) for column in table.columns}
    for view in VIEWS:
        comments.add((view.name, None, view.meaning))
        comments |= {(view.name, name, meaning) for name, meaning in view.columns.items()}
    return comments


def stored_comments(engine: Engine) -> set[tuple[str, str | None, str | None]]:
    with engine.connect() as connection:
        return {(row[0], row[1], row[2]) for row in connection.execute(COMMENTS)}


def test_every_table_view_and_column_has_its_declared_comment(migrated: Engine) -> None:
    declared = declared_comments()
    assert all(comment for _, _, comment in declared)
    assert stored_comments(migrated) == declared


def test_a_changed_comment_is_reported_and_corrected_by_an_upgrade(migrated: Engine) -> None:
    execute(migrated, "comment on column run.t_s is 'seconds'", "drop view artifact")
    found = migrations.differences(migrated)
    assert any(line.startswith("modify comment run t_s ") for line in found)
    assert "add view artifact" in found
    assert not migrations.upgrade(migrated, Silent())
    assert migrations.differences(migrated) == []


def test_an_upgrade_keeps_views_of_other_programs_that_read_starcast_views(
    migrated: Engine,
) -> None:
    execute(migrated, "create view mine as select experiment, gap from run_summary")
    migrations.upgrade(migrated, Silent())
    assert scalars(migrated, "select count(*) from mine") == [0]


def test_the_migrations_create_the_constraints_and_indexes_of_the_models(
    migrated: Engine, store_url: URL
) -> None:
    """Alembic's own comparison ignores check constraints and index expressions."""
    with new_database(store_url) as url:
        other = sessions.connect(url)
        models.Base.metadata.create_all(other)
        declared = set(scalars(other, CONSTRAINTS))
        other.dispose()
    assert set(scalars(migrated, CONSTRAINTS)) == declared


RUN = (
    "insert into run (experiment, topology, collective, algorithm, ports, message_bytes, messages,"
    " t_s, t_c, segments, faults, status, started_at, finished_at) values ({experiment},"
    " {topology}, {collective}, {algorithm}, 'all', '1', 1, '1', '1', 1, {faults}, 'complete',"
    " now(), now())"
)
VALID = {
    "experiment": "1", "topology": "'S5'", "collective": "'broadcast'", "algorithm": "'multiple'",
    "faults": "'[]'",
}  # fmt: skip


@pytest.mark.parametrize(
    ("statement", "constraint"),
    [
        (RUN.format(**VALID | {"topology": "'NO SPEC'"}), "ck_run_topology"),
        (RUN.format(**VALID | {"topology": "''"}), "ck_run_topology"),
        (RUN.format(**VALID | {"collective": "'shout'"}), "ck_run_collective"),
        (RUN.format(**VALID | {"algorithm": "'DROP TABLE'"}), "ck_run_algorithm"),
        (RUN.format(**VALID | {"faults": "'{}'"}), "ck_run_faults"),
        (RUN.format(**VALID | {"experiment": "99"}), "fk_run_experiment"),
        ("insert into topology values ('NO SPEC', 'star', 4, 1, 2, 1, 1, 1, 2)",
         "ck_topology_spec"),
        ("insert into topology values ('S5', 'star', 4, 1, 2, 1, 1, 1, 3)", "ck_topology_counts"),
        ("insert into topology values ('S5', 'sun', 4, 1, 1, 1, 1, 1, 1)", "fk_topology_family"),
        ("insert into experiment (name) values ('a b')", "ck_experiment_name"),
        ("insert into experiment (name, points) values ('a', 0)", "ck_experiment_points"),
        ("insert into forest values ('S5:greedy:1234', 'S4', 'greedy', '{}', 0, '1', 1, 1, 1)",
         "ck_forest_id"),
        (("insert into schedule values"
         " ('S4:x', 'S4', null, 'broadcast', 'Multi ple', 'all', '{}', 0, true, 1, 1, 1, 1)"),
         "ck_schedule_algorithm"),
        (("insert into materialization (kind, id, state, method, expected_nodes,"
         " expected_relationships, expected_checksum)"
         " values ('topology', 'NO SPEC', 'planned', 'bolt', 0, 0, '')"), "ck_materialization_id"),
        ("insert into claim_verdict values (1, 'L5', 'holds', '[]', null, '')", "ck_claim_verdict"),
        ("insert into claim_verdict values (1, 'TS.L5', 'holds', '[]', '{}', '')",
         "ck_claim_verdict_counterexample"),
        ("insert into claim_verdict values (1, 'TS.L5', 'perhaps', '[]', null, '')",
         "ck_claim_verdict_verdict"),
        ("insert into claim_run (level, sizes, version) values ('quick', '[]', '1')",
         "ck_claim_run_sizes"),
        ("insert into claim_run (version) values ('1')", "ck_claim_run_sizes"),
        ("insert into claim_run (level, version) values ('slow', '1')", "ck_claim_run_level"),
        ("insert into store default values", "ix_store_one_row"),
    ],
)  # fmt: skip
def test_invalid_rows_are_refused(migrated: Engine, statement: str, constraint: str) -> None:
    execute(
        migrated,
        "insert into experiment (name) values ('e')",
        "insert into topology values ('S4', 'star', 4, null, 24, 36, 3, 4, 24)",
        "insert into claim_run (level, version) values ('quick', '1')",
        RUN.format(**VALID),
    )
    with pytest.raises(IntegrityError, match=constraint):
        execute(migrated, statement)


@pytest.fixture
def experiments(engine: Engine) -> Engine:
    """Two experiments on several algorithms and message sizes, and one with faults."""
    for name, algorithms in (("first", ["multiple", "greedy"]), ("second", ["recursive-substar"])):
        grid = Grid({
            "topology": ["S4", "S5"], "collective": "broadcast", "algorithm": algorithms,
            "message_bytes": ["64", "23/3", "4096"], "t_s": ["100", "23/3"],
        })  # fmt: skip
        run_experiment(engine, name, grid, Silent(), jobs=1)
    faults = Grid({
        "topology": "S4", "collective": "broadcast", "algorithm": "edge-disjoint",
        "message_bytes": "64", "faults": ["none", "2134", "1 node"], "copies": [1, 3],
    })  # fmt: skip
    run_experiment(engine, "faults", faults, Silent(), jobs=1)
    return engine


def rows(engine: Engine, query: str) -> list[dict[str, object]]:
    with engine.connect() as connection:
        return [dict(row) for row in connection.execute(text(query)).mappings()]


def test_the_view_run_summary_has_the_same_values_as_python(
    experiments: Engine,
) -> None:
    found = {row["run"]: row for row in rows(experiments, "select * from run_summary")}
    with sessions.open_session(experiments) as session:
        total = 0
        for experiment in repository.list_experiments(session):
            for run in repository.load_runs(session, experiment.id):
                row = found[run.id]
                total += 1
                assert row["experiment"] == experiment.name
                for name in ("topology", "algorithm", "ports", "base", "copies", "segments",
                             "messages", "seed", "status", "error"):  # fmt: skip
                    assert row[name] == getattr(run, name), name
                assert row["faults"] == list(run.faults)
                assert row["message_bytes"] == float(run.message_bytes)
                assert row["time"] == pytest.approx(float(figure(run, "time")), rel=1e-15)
                assert row["bound"] == pytest.approx(float(figure(run, "time", "lower bound")))
                closed = figure(run, "time", "closed form")
                assert row["closed_form"] == pytest.approx(float(closed))
                assert (row["steps"], row["missing"]) == (figure(run, "steps"), run.missing)
                expected = gap(run)
                assert row["gap"] == (None if expected is None else pytest.approx(float(expected)))
    assert total == len(found) == 36 + 6
    assert any(row["missing"] for row in found.values())
    assert any(row["gap"] is None for row in found.values())


def test_the_view_claim_summary_has_the_newest_verdict_of_each_claim(engine: Engine) -> None:
    for names in (["TS.L1", "TS.L5"], ["TS.L5"]):
        check_and_store(engine, names)
    found = {row["claim"]: row for row in rows(engine, "select * from claim_summary")}
    with sessions.open_session(engine) as session:
        newest = newest_verdicts(session)
    assert found.keys() == newest.keys()
    for claim, (run, verdict) in newest.items():
        row = found[claim]
        assert (row["claim_run"], row["level"], row["version"]) == (run.id, run.level, run.version)
        assert row["finished_at"] == run.finished_at
        assert verdict is not None
        assert (row["verdict"], row["detail"]) == (verdict.verdict, verdict.detail)
        assert (row["sizes"], row["subject"]) == (list(verdict.sizes), verdict.of)
        assert isinstance(row["seconds"], float)
    assert {row["claim_run"] for row in found.values()} == {1, 2}


@pytest.fixture
def ingested(stores: Stores) -> Engine:
    ingest(stores, parse_request("S3", trees="multiple", schedules="multiple,alltoall:exact"))
    return stores.engine


def test_the_artifact_view_and_the_listings_have_the_stored_values(ingested: Engine) -> None:
    found = {(row["kind"], row["id"]): row for row in rows(ingested, "select * from artifact")}
    with sessions.open_session(ingested) as session:
        stored = session.scalars(select(models.Materialization)).all()
        assert found.keys() == {(row.kind, row.id) for row in stored}
        assert {kind for kind, _ in found} == set(models.KINDS)
        for row in stored:
            seen = found[row.kind, row.id]
            own = session.get(repository.MODELS[row.kind], row.id)
            for name, value in seen.items():
                if hasattr(row, name):
                    assert value == getattr(row, name), name
                elif name not in {"graph_nodes", "graph_relationships", "topology"}:
                    assert value == getattr(own, name, None), name
            assert seen["topology"] == "S3"
            counts = (row.expected_nodes, row.expected_relationships)
            assert (seen["graph_nodes"], seen["graph_relationships"]) == counts
        for kind in models.KINDS:
            for listed in list_artifacts(session, kind):
                seen = found.pop((kind, listed["id"]))
                assert all(seen[name] == listed[name] for name in listed.keys() - {"arguments"})
    assert not found


LARGE = """
    insert into experiment (name) select 'e' || i from generate_series(1, 100) as i;
    insert into run (experiment, topology, collective, algorithm, ports, message_bytes, messages,
        t_s, t_c, segments, status, started_at, finished_at)
    select e, 'S' || 3 + i %% 6, (array['broadcast', 'scatter', 'gather'])[1 + i %% 3],
        (array['multiple', 'greedy', 'balanced', 'necklace', 'exact'])[1 + i %% 5], 'all',
        (i * 37)::text, 1, '100', '1', 1, 'complete', now(), now()
    from generate_series(1, 100) as e, generate_series(1, 200) as i;
    insert into cost (run, kind, steps, start_ups, transmissions, bytes, time, source)
    select id, kind, 9, '9', 138, '96', '996', 'x'
    from run, unnest(array['simulated', 'closed form', 'lower bound']) as kind;
    insert into claim_run (level, version)
    select 'quick', '1' from generate_series(1, 100) as i;
    insert into claim_verdict (claim_run, claim, verdict, sizes, detail)
    select r, 'TS.L' || i, 'holds', '[]', '' from generate_series(1, 100) as r,
        generate_series(1, 200) as i;
    insert into materialization (kind, id, state, method, expected_nodes,
        expected_relationships, expected_checksum)
    select 'schedule', 'S' || i %% 400 || ':x' || i, 'complete', 'bolt', 1, 1, ''
    from generate_series(1, 20000) as i
"""


@pytest.fixture(scope="module")
def large(store_url: URL) -> Iterator[Engine]:
    """A database with 20,000 runs, 20,000 verdicts and 20,000 artifacts."""
    with new_database(store_url) as url:
        engine = sessions.connect(url)
        migrations.upgrade(engine, Silent())
        with engine.begin() as connection:
            for statement in LARGE.split(";"):
                connection.exec_driver_sql(statement)
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("vacuum analyze"))
        yield engine
        engine.dispose()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("select * from run_summary where experiment = 'e7'", "uq_run_point"),
        ("select * from run_summary where run = 7", "pk_run"),
        (("select * from run_summary where topology = 'S5' and collective = 'gather'"
         " and message_bytes = 37"), "ix_run_question"),
        ("select count(*) from run_summary where algorithm = 'exact' and collective = 'gather'",
         "ix_run_algorithm"),
        ("select * from claim_summary where claim = 'TS.L5'", "ix_claim_verdict_claim"),
        ("select * from artifact where topology = 'S5'", "ix_materialization_topology"),
        ("select * from artifact where id = 'S5:x5' and kind = 'schedule'", "pk_materialization"),
        ("select * from materialization where kind = 'schedule' and id = 'S5:x5'",
         "pk_materialization"),
    ],
)  # fmt: skip
def test_queries_of_a_large_store_use_indexes(large: Engine, query: str, index: str) -> None:
    plan = "\n".join(scalars(large, f"explain {query}"))
    assert index in plan, plan
    for table in ("run", "claim_verdict", "materialization"):
        assert f"Seq Scan on {table} " not in f"{plan} ", plan


READING = [
    ("topology", "list"),
    ("forest", "list"),
    ("schedule", "list"),
    ("topology", "show", "S3"),
    ("forest", "show", "S3:multiple:123"),
    ("forest", "show", "S3:multiple:123", "--verify"),
    ("graph", "verify"),
    ("query", "run", "overlap/load-histogram", "forest=S3:multiple:123"),
    ("run", "list"),
    ("run", "show", "1"),
    ("run", "steps", "1"),
    ("experiment", "list"),
    ("experiment", "show", "e"),
    ("experiment", "reproduce", "e"),
    ("compare", "e"),
    ("claims", "list", "TS"),
    ("claims", "runs"),
    ("db", "check"),
]
WRITING = [
    ("ingest", "S2"),
    ("topology", "drop", "S3", "--cascade"),
    ("graph", "rebuild"),
    ("run", "once", "S3", "broadcast", "multiple", "-m", "64"),
    ("experiment", "run", "x", "--topology", "S3", "--algorithm", "multiple", "-m", "1"),
    ("experiment", "drop", "e"),
    ("claims", "check", "TS.L1"),
    ("db", "upgrade"),
]


@pytest.fixture
def reading(
    servers: None,  # noqa: ARG001 - the reader replaces the writer of the settings
    ingested: Engine,
    role_url: Callable[[URL, Role], URL],
    monkeypatch: pytest.MonkeyPatch,
) -> Engine:
    """The engine of a database with data; starcast commands log in to it as the reader role."""
    grid = Grid({
        "topology": "S3", "collective": "broadcast", "algorithm": ["multiple", "greedy"],
        "message_bytes": 64,
    })  # fmt: skip
    run_experiment(ingested, "e", grid, Silent(), jobs=1)
    name_store(monkeypatch, role_url(ingested.url, "reader"))
    return ingested


def test_the_reader_role_can_run_commands_that_read(reading: Engine, starcast: Starcast) -> None:
    failed = {}
    for words in READING:
        result = starcast(*words)
        if result.code != 0:
            failed[words] = result.err
    assert failed == {}
    assert reading.url.username == "starcast_writer"


def test_the_refusal_of_a_write_names_the_missing_right(
    reading: Engine, starcast: Starcast
) -> None:
    for words in WRITING:
        result = starcast(*words)
        assert result.code == 4, (words, result)
        assert "refuses 'starcast_reader': " in result.err, result.err
        assert "permission denied" in result.err or "must be owner" in result.err, result.err
        hint = result.err.partition("hint: ")[2]
        rights = ("log in as another role", "grant usage on the schema", "name the role that owns")
        assert hint.startswith(rights), result.err
    with sessions.open_session(reading) as session:
        assert len(list_artifacts(session, "topology")) == 1
        assert [each.name for each in repository.list_experiments(session)] == ["e"]
    assert migrations.current(reading) == migrations.head()


def test_the_writer_is_not_a_superuser_and_lacks_rights_that_it_does_not_need(
    engine: Engine,
) -> None:
    query = "select rolname from pg_roles where starts_with(rolname, 'starcast_') and rolsuper"
    assert scalars(engine, query) == []
    for statement in (
        "drop table run",
        "create table mine (id int)",
        "alter table run add column mine int",
        "truncate run",
        "update store set id = gen_random_uuid()",
        "delete from alembic_version",
    ):
        with pytest.raises(DBAPIError, match=r"permission denied|must be owner"):
            execute(engine, statement)


def test_a_write_in_a_read_only_session_is_reported_as_unavailable(engine: Engine) -> None:
    """Sessions are read-only on a replica, or through default_transaction_read_only."""
    change = ("set transaction read only", "insert into experiment (name) values ('x')")
    with pytest.raises(UnavailableError, match="read-only"), sessions.translated_errors(engine.url):
        execute(engine, *change)


def test_an_upgrade_grants_the_rights_that_a_role_lacks(migrated: Engine) -> None:
    """Roles exist once per server, but their rights are granted in each database."""
    execute(migrated, "revoke all on run from starcast_reader")
    query = "select has_table_privilege('starcast_reader', 'run', 'select')"
    assert scalars(migrated, query) == [False]
    migrations.upgrade(migrated, Silent())
    assert scalars(migrated, query) == [True]


@pytest.mark.slow
def test_the_alembic_command_also_writes_comments_views_and_rights(
    bare: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_store(monkeypatch, bare.url)
    command = [sys.executable, "-m", "alembic", "-c", "migrations/alembic.ini", "upgrade", "head"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    assert migrations.differences(bare) == []
    assert stored_comments(bare) == declared_comments()
