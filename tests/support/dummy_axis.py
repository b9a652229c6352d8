"""A program that declares an additional experiment axis and checks every interface for it.

``python -m support.dummy_axis URL`` inserts one field into the source of `Parameters` before it
imports any other module of starcast. The URL is that of an empty PostgreSQL database, in which the
program stores, exports, imports and compares an experiment.
"""

import sys
import tempfile
from pathlib import Path
from types import ModuleType

AXIS = "noise"
DECLARATION = """
    noise: Annotated[
        Fraction,
        Axis(
            help="Noise of the links.",
            meaning="noise of all links",
            read=read_number,
            default="0",
        ),
    ] = Fraction(0)
"""


def add_axis() -> None:
    """Replace the module that declares the axes by a version with an additional axis."""
    from starcast.support import axes

    file = Path(str(axes.__file__))
    body, *rest = file.read_text(encoding="utf-8").partition("\n\ndef _read_declaration")
    changed = ModuleType("starcast.support.axes")
    sys.modules[changed.__name__] = changed
    exec(compile("".join([body, DECLARATION, *rest]), file, "exec"), changed.__dict__)  # noqa: S102


def check(address: str) -> None:
    """Check that the new axis works in every interface."""
    from fractions import Fraction

    from sqlalchemy import UniqueConstraint, make_url, text
    from typer.testing import CliRunner

    from starcast.cli.app import app
    from starcast.comparison.compare import compare
    from starcast.comparison.listing import run_row
    from starcast.comparison.matching import Side
    from starcast.comparison.sides import load_side, read_conditions, select_runs
    from starcast.experiments.design import Design, Grid, as_toml, grid_command
    from starcast.experiments.exchange import export_experiments, import_experiments
    from starcast.experiments.exchange_file import RunRecord
    from starcast.experiments.execution import execute, price_run
    from starcast.experiments.running import reproduce, run_experiment
    from starcast.stores.database import sessions
    from starcast.stores.database.migrations import declare
    from starcast.stores.database.models import Base, Run
    from starcast.stores.database.views import RUN_SUMMARY
    from starcast.support.progress import Silent
    from starcast.web.models import RunResource

    # Check grids, experiment designs and points.
    given = {"topology": "S4", "algorithm": "multiple", "message_bytes": 64}
    grid = Grid({**given, "noise": ["1/2", 0]})
    assert grid.axes["noise"] == (0, Fraction(1, 2))
    assert Grid(grid.as_json()) == grid
    assert 'noise = ["0", "1/2"]' in as_toml(Design((grid,)).as_json())
    assert "--noise 0 --noise 1/2" in grid_command(grid.as_json(), "e")
    usual, noisy = grid.points()
    assert [getattr(point, AXIS) for point in (usual, noisy)] == [0, Fraction(1, 2)]
    assert usual == Grid(given).points()[0]
    assert usual.structure != noisy.structure
    assert "--noise 1/2" in noisy.command()
    assert "--noise" not in usual.command()

    # Check command-line options.
    runner = CliRunner()
    words = [*noisy.command().split()[1:], "--no-store", "--format", "json"]
    result = runner.invoke(app, words)
    assert result.exit_code == 0, result.output
    for command in (["run", "once"], ["experiment", "run"]):
        result = runner.invoke(app, [*command, "--help"], env={"COLUMNS": "200"})
        assert "--noise" in result.output
        assert "Noise of the links." in result.output

    # Check the columns of tables and views.
    table = Run.metadata.tables["run"]
    columns = table.columns
    assert columns["noise"].comment == "noise of all links, exact"
    assert "noise_value" in columns
    (unique,) = (each for each in table.constraints if isinstance(each, UniqueConstraint))
    assert "noise" in unique.columns
    assert RUN_SUMMARY.columns["noise"] == "noise of all links"

    # Check experiment files (also of versions without the axis), listed rows, and API types.
    runs = {point: price_run(point, execute(point)) for point in (usual, noisy)}
    record = RunRecord.of(runs[noisy], ()).model_dump(mode="json")
    assert record["noise"] == "1/2"
    assert RunRecord.model_validate(record).point == noisy
    del record["noise"]
    assert RunRecord.model_validate(record).point == usual
    assert run_row(runs[noisy], "e")["noise"] == 0.5
    assert RunResource.model_json_schema()["properties"]["noise"]["type"] == "number"

    # Check how comparisons match runs.
    sides = [Side("a", (runs[usual],)), Side("b", (runs[noisy],))]
    (row,) = compare(sides).rows()
    assert row["note"] == "different noise (0, 1/2)"
    both = Side("both", (runs[usual], runs[noisy]))
    crossed = compare([both], across=["noise"])
    assert [side.name for side in crossed.sides] == ["both/noise=0", "both/noise=1/2"]
    (chosen,) = select_runs([both], read_conditions(["noise=0.5"]))
    assert chosen.runs == (runs[noisy],)

    # Check that a store can store, export, import and reproduce runs, and find them by SQL.
    engine = sessions.connect(make_url(address))
    with engine.begin() as connection:
        Base.metadata.create_all(connection)
        connection.execute(text("create table alembic_version (version_num text)"))
        declare(connection)
    assert run_experiment(engine, "e", grid, Silent()).created == 2
    assert run_experiment(engine, "e", grid, Silent()).kept == 2
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "e.json"
        export_experiments(engine, ["e"], file)
        assert import_experiments(engine, file, "copy")[0].created == 2
    assert all(each.agrees for each in reproduce(engine, "copy", Silent()))
    with sessions.open_session(engine) as session:
        assert [getattr(run, AXIS) for run in load_side(session, "copy").runs] == [0, 0.5]
        query = "select experiment, noise from run_summary order by experiment, noise"
        rows = session.execute(text(query)).all()
        assert rows == [("copy", 0), ("copy", 0.5), ("e", 0), ("e", 0.5)]
    engine.dispose()


if __name__ == "__main__":
    add_axis()
    check(sys.argv[1])
