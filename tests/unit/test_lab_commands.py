"""Every command of the command line has a counterpart in Python."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from starcast.cli.app import app
from starcast.lab import Lab

NOTEBOOKS = Path(__file__).parents[2] / "examples" / "notebooks"

#: For each command a method of the lab (``lab.NAME``), a function, or a notebook.
COUNTERPARTS = {
    "backup": "lab.backup",
    "claims changed": "lab.claim_changes",
    "claims check": "lab.check_claims",
    "claims list": "lab.claims",
    "claims merge": "starcast.claims.sharding:merge_claims",
    "claims report": "lab.claim_report",
    "claims runs": "lab.claim_runs",
    "claims show": "lab.claim",
    "compare": "lab.compare",
    "config": "lab.config",
    "cost optimum": "starcast.costs:optimal_pieces",
    "cost table": "starcast.costs.tables:build_table",
    "db check": "lab.schema",
    "db current": "lab.schema",
    "db downgrade": "starcast.database.sessions:downgrade",
    "db upgrade": "lab.upgrade",
    "demo": "first-hour.ipynb",
    "doctor": "lab.doctor",
    "down": "lab.stop",
    "experiment drop": "lab.drop_experiment",
    "experiment examples": "lab.examples",
    "experiment export": "lab.export_experiment",
    "experiment import": "lab.import_experiment",
    "experiment list": "lab.experiments",
    "experiment grid": "lab.grid",
    "experiment merge": "lab.merge_experiment",
    "experiment reproduce": "lab.reproduce",
    "experiment run": "lab.experiment",
    "experiment show": "lab.show_experiment",
    "explore": "starcast.explorer:build_page",
    "export": "lab.export_files",
    "forest build": "starcast:forest",
    "forest constructions": "starcast:constructions",
    "forest draw": "starcast.drawing:draw",
    "forest drop": "lab.drop",
    "forest export": "starcast:export",
    "forest list": "lab.forests",
    "forest merge": "starcast.blockwise:combine",
    "forest show": "lab.show",
    "forest verify": "starcast.trees:Forest",
    "graph adopt": "lab.adopt",
    "graph rebuild": "lab.rebuild",
    "graph verify": "lab.verify",
    "ingest": "lab.ingest",
    "query ask": "lab.ask",
    "query check": "lab.check_queries",
    "query list": "lab.queries",
    "query new": "lab.new_query",
    "query run": "lab.query",
    "query show": "lab.show_query",
    "records list": "lab.records",
    "records merge": "starcast.search.sharding:merge_searches",
    "records problems": "starcast.search:find_problem",
    "records prove": "starcast.search:prove_again",
    "records show": "starcast.records:find_record",
    "records store": "lab.store_records",
    "records verify": "starcast.records:verify",
    "restore": "lab.restore",
    "run list": "lab.runs",
    "run once": "lab.run",
    "run show": "lab.show_run",
    "run steps": "lab.run_steps",
    "schedule algorithms": "starcast:algorithms",
    "schedule draw": "starcast.drawing:draw_steps",
    "schedule drop": "lab.drop",
    "schedule export": "starcast:export",
    "schedule import": "starcast:schedule_from_goal",
    "schedule list": "lab.schedules",
    "schedule rows": "starcast:schedule",
    "schedule show": "lab.show",
    "schedule simulate": "starcast:simulate",
    "search": "starcast.search:search",
    "status": "lab.status",
    "serve": "starcast.web.serving:serve",
    "topology draw": "starcast.drawing:draw_topology",
    "topology drop": "lab.drop",
    "topology export": "starcast:export",
    "topology list": "lab.topologies",
    "topology show": "starcast:topology",
    "uninstall": "starcast.embedded.uninstall:remove",
    "up": "starcast:connect",
}


def commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield all commands that are not hidden."""
    if not hasattr(command, "commands"):
        yield " ".join(words)
        return
    for name, each in command.commands.items():
        if not each.hidden:
            yield from commands(each, (*words, name))


def test_every_command_has_a_counterpart_in_python() -> None:
    assert set(commands(typer.main.get_command(app))) == set(COUNTERPARTS)


def test_the_counterparts_exist_and_are_documented() -> None:
    """Functions and methods with a docstring, or a notebook."""
    for counterpart in set(COUNTERPARTS.values()):
        if counterpart.endswith(".ipynb"):
            assert (NOTEBOOKS / counterpart).is_file(), counterpart
            continue
        if counterpart.startswith("lab."):
            found = getattr(Lab, counterpart.removeprefix("lab."))
        else:
            module, _, name = counterpart.partition(":")
            found = getattr(import_module(module), name)
        assert callable(found), counterpart
        assert found.__doc__, counterpart


def test_every_public_method_of_the_lab_is_documented_and_annotated() -> None:
    for name in dir(Lab):
        method = getattr(Lab, name)
        if name.startswith("_") or not callable(method):
            continue
        assert method.__doc__, name
        assert "return" in method.__annotations__, name
