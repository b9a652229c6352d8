"""The commands `db`, `run`, `experiment` and `compare`: stdout, stderr and exit codes."""

import json
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import URL, Engine, text

from starcast.collectives import Schedule, schedule
from starcast.experiments import execution
from starcast.stores.database import migrations, sessions
from support.fix_cli import Starcast, name_store, refused
from support.fix_store import FilledDatabase
from support.stored_runs import cells

GRID = "--topology S4 --segments 1 --segments 4 -m 1024 -m 64"
RULE = "S4 broadcast multiple"
POINT = f"{RULE} -m 1024"


@pytest.fixture
def two(filled_database: FilledDatabase, starcast: Starcast) -> URL:
    """Store two experiments, `ours` and `theirs`."""

    def fill() -> None:
        for name, algorithm in (("ours", "multiple"), ("theirs", "recursive-substar")):
            assert starcast(f"experiment run {name} --algorithm {algorithm} {GRID}").code == 0

    return filled_database("two experiments", fill)


def test_db_upgrade_creates_the_schema_once_and_db_check_finds_a_manual_change(
    starcast: Starcast, fresh_database: URL, bare: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_store(monkeypatch, fresh_database)
    shown = starcast("db check -f json").json
    missing = {"revision": None, "newest": migrations.head()}
    assert shown == missing | {"differences": [], "others": []}
    assert "no schema" in refused(starcast("db check"), 6, remarks=True)[0]
    assert f"from nothing to {migrations.head()}" in starcast("db upgrade").err
    assert "up to date" in starcast("db upgrade").err
    assert starcast("db check").code == 0
    shown = starcast("db check -f json").json
    assert shown["revision"] == migrations.head()
    with bare.begin() as connection:
        connection.execute(text("alter table cost add column colour text"))
    assert "colour" in refused(starcast("db check"), 6, remarks=True)[0]


def test_run_once_without_storing_needs_no_server(starcast: Starcast, tmp_path: Path) -> None:
    result = starcast(f"--home {tmp_path} run once {POINT} --no-store -f json")
    assert result.code == 0
    # Lemma 1 of Tseng & Sheu: the time of D_4 = 4 start-ups, or of 1024/3 bytes if that is longer.
    assert result.json[2]["time"] == 400


@pytest.mark.usefixtures("database")
def test_a_run_number_too_large_for_the_database_is_reported_as_not_stored(
    starcast: Starcast,
) -> None:
    for number in (2**31, 2**63, 10**20):
        for words in (f"run show {number}", f"compare {number} {number}"):
            assert refused(starcast(words), 3)[0] == f"no run {number} is stored"


@pytest.mark.usefixtures("database")
def test_run_once_stores_three_costs_and_run_show_prints_a_command_to_reproduce_them(
    starcast: Starcast,
) -> None:
    result = starcast(f"run once {POINT} --ports one --segments 3 -f json")
    printed = result.json
    assert [row["cost"] for row in printed] == ["simulated", "closed form", "lower bound"]
    assert (result.code, "stored as run 1 in 'adhoc'" in result.err) == (0, True)
    (stored,) = starcast("run list -f json").json
    expected = {"run": 1, "experiment": "adhoc", "segments": 3, "status": "complete"}
    assert stored.items() >= (expected | {"time": printed[0]["time"]}).items()
    facts = starcast("run show 1 -f json").json
    assert facts["simulated_time"] == printed[0]["time"]
    assert {"version", "revision", "dirty", "host", "postgres", "simulate_seconds"} < set(facts)
    again = facts["reproduce"].removeprefix("starcast ")
    assert starcast(f"{again} --no-store -f json").json == printed
    steps = starcast("run steps 1 -f json").json
    assert [row["step"] for row in steps] == list(range(1, facts["steps"] + 1))


@pytest.mark.usefixtures("database")
def test_an_experiment_runs_once_and_is_listed_shown_and_dropped(starcast: Starcast) -> None:
    words = f"experiment run ours --algorithm multiple {GRID}"
    assert "4 runs executed and stored, 0 were stored before" in starcast(words).err
    assert "0 runs executed and stored, 4 were stored before" in starcast(words).err
    (listed,) = starcast("experiment list -f json").json
    assert {"experiment": "ours", "runs": 4, "failed": 0}.items() <= listed.items()
    assert listed["segments"] == ["1", "4"]
    shown = starcast("experiment show ours -f csv")
    sizes = [row["message_bytes"] for row in shown.rows]
    assert sizes == ["64", "1024", "64", "1024"]
    assert "starcast experiment run ours --collective broadcast" in shown.err
    assert starcast("experiment drop ours").code == 0
    assert starcast("run list -f json").json == []
    assert starcast("experiment drop ours").code == 3


@pytest.mark.usefixtures("database")
def test_messages_about_one_run_or_unit_use_the_singular(
    starcast: Starcast, engine: Engine
) -> None:
    words = ("experiment", "run", "ours", "--algorithm", "multiple", "--topology", "S4", "-m", "1")
    for counts in ("1 run executed and stored, 0 were", "0 runs executed and stored, 1 was"):
        assert f"experiment 'ours': {counts} stored before" in starcast(*words).err
    assert "all figures agree in 1 of 1 run\n" in starcast("experiment reproduce ours").err
    with engine.begin() as connection:
        connection.execute(text("update cost set time = '7' where kind = 'simulated'"))
    result = starcast("experiment reproduce ours")
    assert result.code == 6
    message = "error: the new figures of 1 run differ from the stored figures"
    assert result.err.splitlines()[-2] == message
    assert "deleted the experiment 'ours' with 1 run\n" in starcast("experiment drop ours").err
    # A node at maximum distance is a leaf, so a fault on its parent link cuts off no other node.
    lost = "run once S4 broadcast greedy -m 8 --no-store"
    messages = [starcast(f"{lost} --faults 2143-{other}").err for other in ("1243", "4123", "3142")]
    assert sum("1 unit is missing at the end" in words for words in messages) == 1


@pytest.mark.usefixtures("database")
def test_commands_on_an_incomplete_experiment_report_the_number_of_missing_runs(
    starcast: Starcast, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = f"experiment run ours --algorithm multiple {GRID}"
    assert starcast(words).code == 0
    sentence = "the experiment 'ours' is incomplete: 1 run is missing of 4"
    for command in ("show", "reproduce"):
        assert "incomplete" not in starcast(f"experiment {command} ours").err
    head, body, _ = table_of(lines_of(starcast, monkeypatch, 200, "experiment list"))
    assert body[0][head.index("runs")] == "4"
    with engine.begin() as connection:
        connection.execute(text("delete from run where id = 2"))
    for command in ("show", "reproduce"):
        result = starcast(f"experiment {command} ours")
        assert (result.code, result.err.splitlines().count(sentence)) == (0, 1)
    assert "incomplete" not in starcast("experiment reproduce 1").err
    assert starcast("compare ours ours --all").err.splitlines().count(sentence) == 1
    assert "incomplete" not in starcast("compare 1 1 --all").err
    (listed,) = starcast("experiment list -f json").json
    assert (listed["runs"], listed["points"]) == (3, 4)
    head, body, _ = table_of(lines_of(starcast, monkeypatch, 200, "experiment list"))
    assert "points" not in head
    assert body[0][head.index("runs")] == "3 of 4"
    assert "1 run executed and stored, 3 were stored before" in starcast(words).err


@pytest.mark.usefixtures("database")
def test_experiments_with_an_invalid_grid_are_listed(starcast: Starcast, engine: Engine) -> None:
    """A grid that this version of starcast refuses is listed with its stored values."""
    for name in ("old", "ours"):
        assert starcast(f"experiment run {name} --algorithm multiple {GRID}").code == 0
    with engine.begin() as connection:
        grid = {"topology": ["S4", "X9"], "algorithm": ["oracle"], "message_bytes": [8]}
        invalid = json.dumps({**grid, "moon": ["full"], "title": "Old"})
        update = text("update experiment set grid = :grid, points = null where name = 'old'")
        connection.execute(update, {"grid": invalid})
    rows = starcast("experiment list -f json").json
    assert cells(rows, "experiment", "runs", "points") == [("old", 4, None), ("ours", 4, 4)]
    assert cells(rows, "topology", "algorithm", "message_bytes") == [
        (["S4", "X9"], ["oracle"], ["8"]), (["S4"], ["multiple"], ["64", "1024"]),
    ]  # fmt: skip
    table = starcast("experiment list").out
    assert "S4 X9" in table
    assert "3 of 4" not in table


@pytest.mark.usefixtures("database")
def test_a_grid_can_be_read_from_a_file_and_options_replace_its_axes(
    starcast: Starcast, tmp_path: Path
) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(
        'topology = "S4"\nalgorithm = ["multiple", "greedy"]\n'
        'message_bytes = [64, "23/3"]\nt_s = 7\n'
    )
    assert "4 runs executed" in starcast(f"experiment run both --grid {file}").err
    assert "2 runs executed" in starcast(f"experiment run one --grid {file} -m 9").err
    rows = starcast("run list --experiment one -f json").json
    figures = [(row["algorithm"], row["message_bytes"], row["t_s"]) for row in rows]
    assert figures == [("greedy", 9, 7), ("multiple", 9, 7)]


@pytest.mark.usefixtures("database")
def test_options_set_the_axes_of_a_grid_and_experiment_show_prints_them(starcast: Starcast) -> None:
    """The command that `experiment show` prints has the same grid, so it stores no new run."""
    words = (
        "experiment run wide --topology S4 --collective broadcast --collective "
        "allgather --algorithm edge-disjoint --ports all --messages best --messages "
        "degree --copies 1 --copies degree --faults none --faults '1 node' --faults "
        "'2134 1234-4231@2' --seed 5 --seed 6 -m 90 --t-s 7 --t-c 1/3 --jobs 1"
    )
    assert "runs executed and stored, 0 were stored before" in starcast(words).err
    shown = starcast("experiment show wide -f json")
    rows = shown.json
    expected = set(product(("broadcast", "allgather"), (1, 3)))
    assert set(cells(rows, "collective", "copies")) == expected
    assert {row["seed"] for row in rows if len(row["faults"]) == 1} == {5, 6}
    named = {tuple(row["faults"]) for row in rows if row["seed"] == 0}
    assert named == {(), ("2134", "1234-4231@2")}
    assert {row["segments"] for row in rows} > {3}
    (command,) = re.findall(r"^starcast (experiment run .*)", shown.err, re.MULTILINE)
    assert "0 runs executed and stored" in starcast(command).err


@pytest.mark.usefixtures("database")
def test_the_column_base_is_shown_only_if_an_algorithm_has_a_base_construction(
    starcast: Starcast,
) -> None:
    words = "experiment run some --topology S4 --collective allgather -m 9"
    assert starcast(f"{words} --algorithm dimension-change --base greedy --base necklace").code == 0
    assert [row["base"] for row in starcast("run list -f json").json] == ["greedy", "necklace"]
    table = starcast("run list").out
    assert "base" in table
    assert "copies" not in table
    assert starcast("experiment drop some").code == 0
    assert starcast(f"{words} --algorithm necklace").code == 0
    assert "base" not in starcast("run list").out


@pytest.mark.slow
@pytest.mark.usefixtures("database")
def test_an_example_grid_runs_by_name_and_can_be_exported_to_a_file(
    starcast: Starcast, tmp_path: Path
) -> None:
    """The file that ``experiment grid`` writes defines the same grid, so no new run is stored."""
    listed = {row["example"]: row for row in starcast("experiment examples -f json").json}
    name = "fragopoulou-akl-1996-table-3"
    assert listed[name]["title"].startswith("Fragopoulou & Akl 1996")
    result = starcast(f"experiment run cubes --grid {name} --topology Q4")
    runs = len(starcast("run list -f json").json)
    assert f"{runs} runs executed" in result.err
    file = tmp_path / "cubes.toml"
    file.write_text(starcast("experiment grid cubes").out)
    assert "0 runs executed and stored" in starcast(f"experiment run cubes --grid {file}").err
    assert name in starcast("experiment examples").out


@pytest.mark.usefixtures("database")
def test_experiment_show_prints_the_command_that_exports_several_grids(
    starcast: Starcast, tmp_path: Path
) -> None:
    file = tmp_path / "two.toml"
    file.write_text(
        'title = "Two"\n[[grid]]\ntopology = "S4"\nalgorithm = "greedy"\nmessage_bytes = 1\n'
        '[[grid]]\ntopology = "Q4"\nalgorithm = "binomial"\nmessage_bytes = 1\n'
    )
    assert "2 runs executed" in starcast(f"experiment run two --grid {file}").err
    assert [row["topology"] for row in starcast("experiment list -f json").json] == [["S4", "Q4"]]
    assert "starcast experiment grid two > two.toml" in starcast("experiment show two").err
    assert starcast("experiment grid two").out.startswith('title = "Two"\n\n[[grid]]\n')


@pytest.mark.usefixtures("database")
def test_run_once_executes_an_allgather_and_reports_units_lost_to_faults(
    starcast: Starcast,
) -> None:
    words = "run once S4 allgather edge-disjoint -m 8 --copies 2 -f json"
    result = starcast(f"{words} --messages 2 --faults '1 node' --seed 3")
    assert result.code == 0
    assert "no unit is missing at the end" in result.err
    (row,) = starcast("run list -f json").json
    assert {"copies": 2, "segments": 2, "seed": 3, "missing": 0}.items() <= row.items()
    assert len(row["faults"]) == 1
    facts = starcast("run show 1 -f json").json
    again = facts["reproduce"].removeprefix("starcast ")
    assert starcast(f"{again} --no-store -f json").json == result.json
    lost = starcast("run once S4 broadcast greedy -m 8 --faults 1234 --no-store")
    assert lost.code == 0
    assert "with faults at 1234: 23 units are missing at the end" in lost.err
    assert "root" in lost.err.replace("with faults at 1234", "")


def lines_of(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch, room: int, line: str
) -> list[str]:
    """Return the output of a command on a terminal of `room` columns, without colours."""
    with monkeypatch.context() as terminal:
        terminal.setenv("TERM", "xterm")
        terminal.setenv("COLUMNS", str(room))
        terminal.setattr("starcast.cli.output.sys.stdout.isatty", lambda: True)
        printed = starcast(line).out
    return [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in printed.splitlines()]


def table_of(lines: list[str]) -> tuple[list[str], list[list[str]], str]:
    """Return the columns, cells and footer of a table. A folded cell would count as another row."""
    (rule,) = [place for place, line in enumerate(lines) if line.strip() and not line.strip(" ─")]
    end = next((place for place in range(rule, len(lines)) if not lines[place]), len(lines))
    head = re.split(r" {2,}", lines[rule - 1].strip())
    body = [re.split(r" {2,}", line.strip()) for line in lines[rule + 1 : end]]
    return head, body, " ".join(line.strip() for line in lines[end:]).strip()


@pytest.fixture
def wide(filled_database: FilledDatabase, starcast: Starcast) -> URL:
    """Store an experiment with wide tables: long names and numbers, copies and faults."""
    words = (
        "--topology S4 --topology S5 --collective broadcast --collective scatter "
        "--algorithm edge-disjoint --messages 3 --copies 2 --faults none --faults "
        "'1 node' --faults '2 nodes' -m 1234567 -m 1000/7 --t-s 22/7"
    )

    def fill() -> None:
        assert starcast(f"experiment run copies-under-faults {words} --jobs 1").code == 0

    return filled_database("copies under faults", fill)


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("room", [100, 120, 160])
@pytest.mark.parametrize("words", ["run list", "experiment show copies-under-faults"])
def test_no_cell_is_wrapped_when_runs_are_listed_on_a_terminal(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch, room: int, words: str
) -> None:
    """Every hidden column is named below the table, or has the same value in all runs."""
    head, body, below = table_of(lines_of(starcast, monkeypatch, room, words))
    rows = starcast(f"{words} -f json").json
    assert [cell[0] for cell in body] == [str(row["run"]) for row in rows]
    assert {"run", "message_bytes", "time", "gap"} <= set(head)
    place = head.index("time")
    # A run with missing units has no gap to its lower bound, so the cell of the gap is empty.
    priced = [
        (float(cell[place - len(head)]), row["time"])
        for cell, row in zip(body, rows, strict=True)
        if row["gap"]
    ]
    assert len(priced) > 1
    assert [cell for cell, _ in priced] == pytest.approx([time for _, time in priced], abs=0.5)
    shared = starcast(words).err.partition("in all rows: ")[2].partition("\n")[0]
    assert "algorithm edge-disjoint" in shared
    gone = re.match(r"not shown: (.*); --all shows all columns", below)
    explained = {part.split()[0] for part in shared.split(", ")} | set(
        gone[1].split(", ") if gone else []
    )
    usual = {
        "base": None, "root": None, "status": "complete", "error": None, "seed": 0, "missing": 0,
        "execution": "synchronous",
    }  # fmt: skip
    assert set(rows[0]) - set(head) - explained <= {
        name for name in usual if all(row[name] == usual[name] for row in rows)
    }


@pytest.mark.usefixtures("wide")
def test_option_all_and_csv_show_every_column_of_runs(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in ("run list", "experiment show copies-under-faults"):
        rows = starcast(f"{words} -f json").json
        head, _, below = table_of(lines_of(starcast, monkeypatch, 300, f"{words} --all"))
        assert head == list(rows[0])
        assert below == ""
        assert list(starcast(f"{words} -f csv").rows[0]) == list(rows[0])


@pytest.mark.usefixtures("wide")
def test_lists_of_experiments_and_reproduced_runs_fit_on_a_terminal(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, body, _ = table_of(
        lines_of(starcast, monkeypatch, 100, "experiment reproduce copies-under-faults")
    )
    assert {"run", "faults", "message_bytes", "agrees"} <= set(head)
    assert not {"status", "steps", "profile"} & set(head), "the same in all runs"
    assert [cell[0] for cell in body] == [str(number) for number in range(1, len(body) + 1)]
    head, body, below = table_of(lines_of(starcast, monkeypatch, 100, "experiment list"))
    assert {"experiment", "runs", "topology", "algorithm"} <= set(head)
    assert [cell[0] for cell in body] == ["copies-under-faults"]
    (gone,) = re.findall(r"not shown: (.*); --all shows all columns", below)
    listed = starcast("experiment list -f json").json[0]
    unsaid = set(listed) - set(head) - set(gone.split(", ")) - {"points"}
    assert all(listed[name] is None for name in unsaid)


@pytest.mark.usefixtures("database")
def test_without_runs_the_tables_are_empty_on_narrow_and_wide_terminals(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    for room, words in product((60, 100, 200), ("run list", "experiment list")):
        assert table_of(lines_of(starcast, monkeypatch, room, words))[1] == []


def test_experiment_reproduce_reports_for_every_run_whether_its_figures_agree(
    starcast: Starcast, two: URL
) -> None:
    agreed = starcast("experiment reproduce ours -f json")
    assert (agreed.code, "all figures agree in 4 of 4 runs" in agreed.err) == (0, True)
    found = cells(agreed.json, "run", "agrees", "profile")
    assert found == [(number, True, "same") for number in range(1, 5)]
    assert "agrees" in starcast("experiment reproduce 2").out
    engine = sessions.connect(two)
    with engine.begin() as connection:
        connection.execute(text("update cost set steps = 77 where run = 3 and kind = 'simulated'"))
    engine.dispose()
    result = starcast("experiment reproduce ours -f json --jobs 2")
    assert result.code == 6
    assert "error: the new figures of 1 run differ from the stored figures" in result.err
    # Tseng & Sheu 1997, Theorem 1: h + p - 1 steps, with height h = 8 and p = 4 segments.
    assert [row["steps"] for row in result.json if not row["agrees"]] == ["was 77, is 11"]
    assert starcast("experiment reproduce none").code == 3
    assert starcast("experiment reproduce 99").code == 3


@pytest.mark.usefixtures("two")
def test_commands_printed_by_compare_reproduce_the_experiments(starcast: Starcast) -> None:
    explained, _, commands = starcast("compare ours theirs").err.partition("reproduce with:")
    assert "in all rows: topology S4, collective broadcast" in explained
    local, remote = (
        re.findall(r"^ *starcast (.*)", part, re.MULTILINE)
        for part in commands.split("on another machine")
    )
    assert (len(local), len(remote)) == (2, 2)
    for line in local:
        assert "4 of 4 runs" in starcast(line).err
    for line in remote:
        assert "0 runs executed and stored, 4 were stored before" in starcast(line).err


@pytest.mark.usefixtures("database")
def test_a_failed_run_is_reported_and_stored_with_the_reason(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    def early(*words: Any, **arguments: Any) -> Schedule:
        built = schedule(*words, **arguments)
        return replace(built, step=np.ones_like(built.step))

    monkeypatch.setattr(execution, "build_schedule", early)
    once = refused(starcast(f"run once {POINT} --segments 2"), 6, remarks=True)
    assert once[0].startswith("the run failed: step 1: ")
    grid = starcast(f"experiment run early --algorithm multiple {GRID}")
    error, _ = refused(grid, 6, remarks=True)
    beginning = "4 runs failed and will not be compared; the first error was: step 1: "
    assert error.startswith(beginning)
    assert "'starcast run show 2'" in grid.err
    assert "error" in starcast("run list").out.split()
    note = starcast("run list --experiment early -f latex").out.splitlines()[-1]
    assert note.startswith("% in all rows: experiment early, topology S4, ")
    stored = starcast("run list -f json").json
    assert [(row["status"], row["time"]) for row in stored] == [("failed", None)] * 5
    assert {row["error"][:8] for row in stored} == {"step 1: "}
    (row,) = starcast("compare 1 2 -f json").json
    assert row["verdict"] == "not comparable"


#: The beginning of the error message, by exit code and command line.
REFUSED = {
    2: {
        f"run once {POINT} --segments 0": "segments is 0, less than 1",
        f"run once {RULE} -m 1e5000 --no-store": "message_bytes is '1e5000', which is not a valid",
        f"run once {POINT} --experiment ours": "the experiment 'ours' is defined by a grid: single",
        f"run once {POINT} --experiment 17": "'17' is not a valid name for an experiment",
        f"experiment run ours --algorithm greedy {GRID}": "the stored experiment 'ours' has",
        "experiment run new --topology S4 --algorithm greedy": "the grid has no m",
        "experiment run new --grid /nowhere.toml": "the grid /nowhere.toml cannot be read",
        "experiment run new --grid tseng": "the grid tseng cannot be read",
        f"experiment run ours --algorithm multiple {GRID} --jobs 0": "the number of jobs is 0,",
        f"run once {POINT} --faults '5 mice'": "the fault '5' is not valid on S4: the label '5'",
        f"run once {POINT} --faults '1 node' --seed x": "seed is 'x', which is not an integer",
        "run once S4 scatter perfectly-balanced -m 1": "scatter by perfectly-balanced on S4 is not",
        "compare ours": "there is nothing to compare in 'ours'",
    },
    3: {
        "run show 99": "no run 99 is stored",
        "run list --experiment none": "no experiment 'none' is stored",
        "experiment show none": "no experiment 'none' is stored",
        "experiment grid none": "no experiment 'none' is stored",
        "compare ours none": "no experiment 'none' is stored",
        "compare ours 99": "no run 99 is stored",
        "compare ours theirs --baseline none": "the baseline 'none' is not part of this comparison",
    },
    7: {f"run once {POINT} --segments 1000000000": "multiple on S4 with segments = 1000000000"},
}


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(
    ("code", "line", "sentence"),
    [(code, *case) for code, cases in REFUSED.items() for case in cases.items()],
)
def test_invalid_input_is_refused_with_the_documented_exit_code(
    starcast: Starcast, code: int, line: str, sentence: str
) -> None:
    assert refused(starcast(line), code, remarks=True)[0].startswith(sentence)
    assert len(starcast("run list -f json").json) == 8
