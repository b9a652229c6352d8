"""The commands `starcast search` and `starcast records`: output, files, exit codes and messages."""

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from starcast.records import Proof, load_record, path_of, shipped_record, verify
from starcast.search import find_problem
from starcast.topologies import topology
from support.fix_cli import Starcast, printed
from support.record_files import put_record


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home directory without records."""
    monkeypatch.setenv("STARCAST_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_search_prints_and_saves_its_record(starcast: Starcast, home: Path) -> None:
    result = starcast("search congestion-trees Q3 --congestion 2 -f json")
    (found,) = printed(result)
    assert (found["value"], found["optimal"]) == (3, True)
    path = path_of(home / "records", "congestion-trees", "Q3", {"congestion": 2})
    assert f"saved the record to {path}" in result.err
    assert load_record(path).value == 3
    assert printed(starcast("search congestion-trees Q3 -f json")) == [found]
    shown = printed(starcast("records show congestion-trees Q3 -f json"))
    assert shown["witness"] == {"parent_port": [3, 8]}
    listed = printed(starcast("records list congestion-trees -f json"))
    assert "Q3" in {row["topology"] for row in listed}


@pytest.mark.parametrize(
    ("option", "largest"), [("--seed", 2_147_483_647), ("--congestion", 999_999_999)]
)
def test_a_search_option_with_a_number_too_large_for_records_is_refused(
    option: str, largest: int, starcast: Starcast, home: Path
) -> None:
    result = starcast(f"search congestion-trees Q3 {option} {largest + 1}")
    assert (result.code, str(largest) in result.err) == (2, True)
    assert not (home / "records").exists()


def test_a_search_starts_from_the_record_that_comes_with_starcast(
    starcast: Starcast, home: Path
) -> None:
    (found,) = printed(starcast("search one-port-broadcast S6 -f json"))
    assert (found["value"], found["optimal"]) == (10, True)
    assert not home.exists()


@pytest.mark.slow
def test_a_search_that_reaches_its_time_limit_saves_the_best_bounds(
    starcast: Starcast, home: Path
) -> None:
    words = "search bisection-width S6 --timeout 2 --fresh -f json"
    result = starcast(words)
    assert result.code == 7
    (found,) = result.json
    assert found["value"] > found["bound"] >= 180
    assert "is not proven optimal after 2 s" in result.err
    assert "repeat the command to continue" in result.err
    assert "looking for 180 " in result.err
    kept = load_record(path_of(home / "records", "bisection-width", "S6"))
    assert (kept.value, kept.bound) == (found["value"], found["bound"])
    assert kept.tried
    verify(kept)


@pytest.mark.slow
def test_an_interrupted_search_saves_the_bound_that_it_found(home: Path) -> None:
    words = ("-m", "starcast.cli.app", "search", "bisection-width", "S5", "--fresh")
    with subprocess.Popen([sys.executable, *words], stderr=subprocess.PIPE, text=True) as process:
        path = path_of(home / "records", "bisection-width", "S5")
        for _ in range(600):
            if path.is_file():
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    assert load_record(path).bound == 30


@pytest.mark.slow
def test_no_solver_outlives_a_killed_search() -> None:
    words = ("search", "edge-disjoint-trees", "S6", "--fresh", "--timeout", "300")
    command = [sys.executable, "-m", "starcast.cli.app", *words]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        solvers: list[psutil.Process] = []
        for _ in range(600):
            # A fork server starts the solvers, so they are grandchildren of the search.
            started = psutil.Process(process.pid)
            servers = started.children()
            solvers = [child for child in started.children(recursive=True) if child not in servers]
            if solvers:
                break
            time.sleep(0.1)
        process.kill()
    assert solvers
    _, alive = psutil.wait_procs(solvers, timeout=60)
    assert alive == []


def test_shards_of_searches_are_merged_into_the_records(
    starcast: Starcast, home: Path, tmp_path: Path
) -> None:
    words = "search edge-disjoint-trees,one-port-broadcast S3 Q3 --fresh"
    files = [str(tmp_path / f"{part}.json") for part in (1, 2)]
    for part, file in enumerate(files, start=1):
        written = starcast(f"{words} --shard {part}/2 --out {file}")
        assert written.code == 0, written.err
        assert written.err.endswith(f"shard {part}/2: 2 searches written to {file}\n")
        assert written.out.count("theory") == 2
    assert not (home / "records").exists()
    rows = printed(starcast("records", "merge", *files, "-f", "json"))
    found = {(row["problem"], row["topology"]): row["value"] for row in rows}
    assert len(found) == 4
    assert found["edge-disjoint-trees", "Q3"] == 4
    assert load_record(path_of(home / "records", "one-port-broadcast", "Q3")).value == 3
    missing = starcast(f"records merge {files[0]}")
    assert (missing.code, "1 shard is missing: 2/2" in missing.err) == (2, True)
    wrong = starcast("forest", "merge", *files)
    assert "use 'starcast records merge'" in wrong.err


def test_records_are_listed_and_shown(starcast: Starcast) -> None:
    rows = printed(starcast("records list -f json"))
    assert {"problem", "topology", "value", "bound", "optimal", "proof"} <= rows[0].keys()
    some = printed(starcast("records list one-port-broadcast -f json"))
    assert {row["problem"] for row in some} == {"one-port-broadcast"}
    assert len(some) < len(rows)
    shown = printed(starcast("records show one-port-broadcast S5 -f json"))
    assert (shown["value"], shown["optimal"]) == (8, True)
    table = starcast("records list --all").out
    assert sum(line.startswith(" one-port-broadcast ") for line in table.splitlines()) == len(some)
    # Without --all, the listing fits on a screen: it has one line per problem and range of
    # topologies. A value that is not known to be optimal is followed by its bound in parentheses.
    brief = starcast("records list")
    lines = brief.out.splitlines()
    assert len(lines) < 25
    (stars,) = (line.split() for line in lines if "one-port-broadcast" in line and "S3..S" in line)
    series = [row for row in some if "," not in row["topology"]]
    assert stars[1] == f"S3..{series[-1]['topology']}"
    assert stars[2 : 2 + len(series)] == [str(row["value"]) for row in series]
    assert sum(int(line.split()[-1]) for line in lines if " of " in line) == len(rows)
    record = next(row for row in rows if not row["optimal"])
    explained = f"{record['value']}({record['bound']}): value {record['value']}, bound"
    assert explained in brief.err
    problems = printed(starcast("records problems -f json"))
    assert all(problem["symmetry"] for problem in problems)


def test_records_are_verified_with_their_proofs_and_a_damaged_record_is_refused(
    starcast: Starcast, tmp_path: Path
) -> None:
    folder = tmp_path / "some"
    paths = [
        put_record(folder, shipped_record(problem, "S4"))
        for problem in ("bisection-width", "one-port-broadcast", "fault-diameter")
    ]
    words = ("records", "verify", *map(str, paths), "-f", "json")
    verified = starcast(*words)
    assert {row["verification"] for row in printed(verified)} == {"verified"}
    assert verified.err == "verified 3 of 3 records; 1 proof regenerated\n"
    witness = next((folder / "bisection-width").glob("*.npz"))
    witness.write_bytes(witness.read_bytes()[:-4])
    result = starcast(*words)
    assert result.code == 2
    assert "is damaged" in result.err


def test_a_record_whose_proof_was_not_regenerated_is_not_called_verified(
    starcast: Starcast, tmp_path: Path
) -> None:
    path = put_record(tmp_path, shipped_record("fault-diameter", "S4"))
    result = starcast(f"records verify {path} --no-proofs -f json")
    assert result.code == 8
    (found,) = result.json
    assert (found["id"], found["verification"]) == ("fault-diameter:S4", "not made again")
    assert "fault-diameter:S4: not made again (proofs were not requested)" in result.err
    path = put_record(tmp_path, shipped_record("edge-disjoint-trees", "S5"))
    result = starcast(f"records verify {path} --proof-timeout 0.1")
    assert result.code in (0, 8)  # a fast machine may regenerate the proof in time


def second_solver(folder: Path) -> Path:
    """Write a false record: it claims that a second solver has proved 9 rounds optimal on S5."""
    best = shipped_record("one-port-broadcast", "S5")
    rounds = best.witness["round"].astype(int)
    witness = {**best.witness, "round": rounds + (rounds == rounds.max())}
    formula = find_problem("one-port-broadcast")(topology("S5"), {}).rebuild(8, {}).sha256()
    proof = Proof("no one-port broadcast", "second solver", formula, "", 0, "CP-SAT", "")
    record = replace(best, value=9, bound=9, witness=witness, proof=proof, reason="belief")
    return put_record(folder, record)


def test_a_false_bound_by_a_second_solver_is_rejected_unless_proofs_are_skipped(
    starcast: Starcast, tmp_path: Path
) -> None:
    path = second_solver(tmp_path)
    result = starcast(f"records verify {path} --no-proofs")
    assert result.code == 8
    assert "one-port-broadcast:S5: not checked (the bound is supported only by CP-SAT" in result.err
    right = put_record(tmp_path, shipped_record("one-port-broadcast", "S4"))
    result = starcast(f"records verify {path} {right} -f json")
    assert result.code == 6
    assert "1 record is wrong: " in result.err
    assert "the formula is satisfiable" in result.err
    states = [row["verification"] for row in result.json]
    assert states == ["rejected", "verified"]


def test_a_regenerated_proof_is_accepted_and_a_damaged_proof_is_rejected(
    starcast: Starcast, tmp_path: Path
) -> None:
    proof, formula = tmp_path / "s4.lrat", tmp_path / "s4.cnf"
    words = "records prove fault-diameter S4"
    created = starcast(f"{words} --out {proof} --formula {formula}")
    assert (created.code, "accepts the proof" in created.err) == (0, True)
    assert formula.read_text().startswith("p cnf ")
    checked = starcast(f"{words} --proof {proof}")
    assert (checked.code, "accepts" in checked.err) == (0, True)
    lines = proof.read_text().splitlines()
    proof.write_text("\n".join(lines[:-1]))
    damaged = starcast(f"{words} --proof {proof}")
    assert (damaged.code, "rejects the LRAT proof: the proof ends" in damaged.err) == (6, True)
    proof.write_bytes(b"\xff\xfe")
    assert starcast(f"{words} --proof {proof}").code == 6
    drat = tmp_path / "s4.drat"
    drat.write_text("0\n")
    damaged = starcast(f"{words} --proof {drat}")
    assert (damaged.code, "dratify rejects the DRAT proof" in damaged.err) == (6, True)
