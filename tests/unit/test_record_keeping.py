"""Record folders: which records are written, and which stored values and bounds are trusted."""

import base64
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from starcast.lab import Lab
from starcast.records import (
    Attempt,
    Proof,
    Record,
    is_better,
    load_record,
    path_of,
    shipped_record,
)
from starcast.records.files import pack_witness
from starcast.records.model import ProofFormat, combine_records, combine_verified
from starcast.search import Budget, find_problem, find_trusted, save_record, search
from starcast.search.running import merge_searches
from starcast.support.errors import InputError, RejectedError, UncheckedError
from starcast.support.settings import Settings
from starcast.support.shards import Job, Shard, write_shard
from starcast.support.vocabulary import Verification
from starcast.topologies import topology
from support.record_files import DIAMETERS, FORGED, FOUR_ROUNDS, put_record
from support.recorder import Recorder

LIMITS = Budget(60)
WEAK = DIAMETERS[5, 21]
Pair = tuple[int, int]


def pair_of(record: Record | None) -> Pair:
    """Return the value and the bound of a record."""
    assert record is not None
    return record.value, record.bound


@pytest.mark.whole
@pytest.mark.parametrize(
    ("stored", "found", "proved", "unproved"),
    [
        # No record is stored.
        (None, (5, 6), (5, 6), (5, 21)),
        (None, (5, 21), (5, 21), (5, 21)),
        # The found record is better.
        ((5, 21), (6, 6), (6, 6), (6, 21)),
        ((5, 21), (6, 21), (6, 21), (6, 21)),
        ((5, 21), (5, 6), (5, 6), (5, 21)),
        ((6, 21), (6, 6), (6, 6), (6, 21)),
        ((5, 6), (6, 6), (6, 6), (6, 6)),
        # The found record is worse.
        ((6, 6), (5, 21), (6, 6), (6, 6)),
        ((6, 21), (5, 21), (6, 21), (6, 21)),
        ((5, 6), (5, 21), (5, 6), (5, 6)),
        # The two records are equal.
        ((6, 6), (6, 6), (6, 6), (6, 6)),
        ((6, 21), (6, 21), (6, 21), (6, 21)),
        # Neither is better.
        ((6, 21), (5, 6), (6, 6), (6, 21)),
        ((5, 6), (6, 21), (6, 6), (6, 6)),
    ],
)
def test_a_record_folder_keeps_the_best_value_and_the_best_verified_bound(
    stored: Pair | None, found: Pair, proved: Pair, unproved: Pair, tmp_path: Path
) -> None:
    for expected, is_proved in ((proved, True), (unproved, False)):
        folder = tmp_path / str(is_proved)
        if stored is not None:
            put_record(folder, DIAMETERS[stored])
        path = save_record(folder, DIAMETERS[found], is_proved=is_proved)
        kept = load_record(path)
        assert pair_of(kept) == expected
        assert (kept.proof is not None) == (expected[1] == 6)


STATES: list[Verification] = ["verified", "not made again", "not checked"]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # The records are equal: the stronger verification state is kept.
        (((6, 6), 1), ((6, 6), 0), ((6, 6), 0)),
        (((6, 6), 2), ((6, 6), 1), ((6, 6), 1)),
        # Both records are verified: the better value and the better bound are kept.
        (((5, 21), 0), ((6, 6), 0), ((6, 6), 0)),
        (((5, 6), 0), ((6, 21), 0), ((6, 6), 0)),
        # A record that is not verified can improve the value, but not the bound.
        (((5, 21), 0), ((6, 6), 1), ((6, 21), 0)),
        (((6, 21), 0), ((5, 6), 1), ((6, 21), 0)),
        (((5, 6), 1), ((6, 21), 0), ((6, 21), 0)),
        (((5, 6), 0), ((6, 6), 2), ((6, 6), 0)),
        # Neither record is verified.
        (((5, 6), 1), ((6, 6), 1), ((6, 6), 1)),
    ],
)
def test_a_combined_record_has_the_verification_state_of_the_bound_that_it_keeps(
    first: tuple[Pair, int], second: tuple[Pair, int], expected: tuple[Pair, int]
) -> None:
    pairs = [(DIAMETERS[pair], STATES[state]) for pair, state in (first, second)]
    for one, other in (pairs, pairs[::-1]):
        record, state = combine_verified(one, other)
        assert (pair_of(record), STATES.index(state)) == expected


def test_a_bound_that_another_witness_contradicts_is_discarded() -> None:
    assert is_better(FOUR_ROUNDS, FORGED)
    assert not is_better(FORGED, FOUR_ROUNDS)
    for records in ([FOUR_ROUNDS, FORGED], [FORGED, FOUR_ROUNDS]):
        assert combine_records(records).fields() == FOUR_ROUNDS.fields()


def test_two_records_have_the_same_digest_only_if_all_fields_and_arrays_agree() -> None:
    side = {"side": np.array([0, 1])}
    record = replace(FOUR_ROUNDS, witness=side)
    others = [
        replace(record, bound=3),
        replace(record, tried=(Attempt("a", 3, "none", 1.0),)),
        replace(record, witness={"side": np.array([1, 0])}),
        replace(record, witness={"other": np.array([0, 1])}),
        replace(record, witness={"side": np.array([[0, 1]])}),
        replace(record, witness={"side": np.array([0, 1], np.uint8)}),
    ]
    assert len({each.digest for each in (record, *others)}) == 1 + len(others)
    assert replace(record, witness={"side": np.array([0, 1])}).digest == record.digest


def test_a_combined_record_lists_each_search_attempt_once() -> None:
    one, other = (
        replace(WEAK, tried=(Attempt(name, 6, "open", 1.0),), seconds=1.0) for name in "ab"
    )
    combined = combine_records([one, other, one, other])
    assert [attempt.method for attempt in combined.tried] == ["a", "b"]
    assert combined.seconds == 2.0


def test_a_combined_record_lists_only_the_newest_search_attempts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("starcast.records.model.MAX_ATTEMPTS", 3)
    one, other = (
        replace(WEAK, tried=tuple(Attempt(name, 6, "open", 1.0) for name in names))
        for names in ("ab", "bcd")
    )
    assert [attempt.method for attempt in combine_records([one, other]).tried] == ["b", "c", "d"]


def test_a_wrong_record_is_not_saved_and_a_wrong_record_file_is_replaced(tmp_path: Path) -> None:
    with pytest.raises(RejectedError, match="has the value 4, not 3"):
        save_record(tmp_path, replace(FOUR_ROUNDS, value=3), is_proved=True)
    with pytest.raises(RejectedError, match="the bound proved by theory is 4"):
        save_record(tmp_path, replace(FOUR_ROUNDS, bound=3), is_proved=True)
    assert not list(tmp_path.rglob("*.json"))
    for wrong in (
        replace(FOUR_ROUNDS, value=3, bound=3),
        replace(FORGED, proof=None),
        replace(FORGED, bound=4, proof=FORGED.proof),
    ):
        put_record(tmp_path, wrong)
        reporter = Recorder()
        path = save_record(tmp_path, FOUR_ROUNDS, reporter)
        assert load_record(path).fields() == FOUR_ROUNDS.fields()
        assert f"{path} is replaced: " in reporter.lines[0]


def test_a_file_with_the_name_of_another_record_is_not_overwritten(tmp_path: Path) -> None:
    path = put_record(tmp_path, FOUR_ROUNDS)
    path.rename(path.with_name("S4.json"))
    with pytest.raises(InputError, match=r"S4\.json is not a record: its name does not match"):
        save_record(tmp_path, shipped_record("one-port-broadcast", "S4"))


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A `Lab` with an empty home folder."""
    monkeypatch.setenv("STARCAST_HOME", str(tmp_path / "home"))
    return Lab(Settings.load)


def test_a_search_does_not_start_from_a_forged_record(lab: Lab, tmp_path: Path) -> None:
    put_record(tmp_path / "home" / "records", FORGED)
    with pytest.raises(RejectedError, match=r"one-port-broadcast:Q4 in .* is wrong: .*satisfiable"):
        lab.search("one-port-broadcast", "Q4")
    with pytest.raises(RejectedError, match="satisfiable"):
        search("one-port-broadcast", "Q4", LIMITS, FORGED)
    with pytest.raises(InputError, match="is not a record of one-port-broadcast on Q3"):
        search("one-port-broadcast", "Q3", LIMITS, FOUR_ROUNDS)


def test_random_seeds_that_no_record_can_contain_are_refused_before_the_first_search(
    lab: Lab, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="of all jobs, 2147483648 to 2147483649, must be"):
        lab.search("bisection-width", "S4,2", seed=2**31 - 2, seeds=2, jobs=2)
    assert not (tmp_path / "home" / "records").exists()


@pytest.mark.parametrize("format_", ["LRAT", "second solver"])
def test_a_record_bound_whose_proof_is_not_regenerated_is_ignored(
    format_: ProofFormat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("starcast.search.proofs.refute", lambda *_: None)
    assert FORGED.proof is not None
    digest, size = ("ab" * 32, 1) if format_ == "LRAT" else ("", 0)
    proof = replace(FORGED.proof, format=format_, proof_sha256=digest, proof_bytes=size)
    put_record(tmp_path, replace(FORGED, proof=proof))
    messages = Recorder()
    limits = Budget(60, reporter=messages)
    found = find_trusted([tmp_path], "one-port-broadcast", "Q4", {}, limits)
    assert pair_of(found) == (5, 4)
    assert f"the bound 5 of one-port-broadcast:Q4 in {tmp_path} is ignored" in messages.lines[0]


def test_only_an_unchanged_record_of_starcast_is_trusted_without_its_proof(
    tmp_path: Path,
) -> None:
    shipped = shipped_record("fault-diameter", "S4")
    assert find_trusted([tmp_path], "fault-diameter", "S4", {}) is None
    put_record(tmp_path, shipped)
    assert pair_of(find_trusted([tmp_path], "fault-diameter", "S4", {})) == (6, 6)
    put_record(tmp_path, replace(shipped, seconds=1e6))
    assert pair_of(find_trusted([tmp_path], "fault-diameter", "S4", {})) == (6, 21)


def shard_of(file: Path, *records: Record) -> Path:
    """Write a shard that contains one search result for each of the given records."""
    results = {
        number: {
            "record": record.fields(),
            "witness": base64.b64encode(pack_witness(record.witness)).decode(),
        }
        for number, record in enumerate(records)
    }
    description = {"searches": [], "seconds": 1.0, "engine": "cadical"}
    write_shard(file, Job("search", description, len(records)), Shard(1, 1), results)
    return file


@pytest.mark.parametrize(("bound", "state"), [(4, "verified"), (8, "not made again")])
def test_merging_shards_reports_an_unproved_bound_only_if_no_verified_bound_is_as_good(
    bound: int, state: str, tmp_path: Path
) -> None:
    shipped = shipped_record("bisection-width", "S4")
    problem = find_problem("bisection-width")(topology("S4"), {})
    theory = problem.bound()
    verified = replace(
        shipped, bound=theory.value, reason=theory.reason, witness=shipped.solution, proof=None
    )
    digest = problem.rebuild(bound - 1, {}).sha256()
    proof = Proof(problem.statement(bound - 1), "LRAT", digest, "1" * 64, 10, "", "")
    unproved = replace(verified, bound=bound, reason=proof.statement, proof=proof)
    for number, records in enumerate(((verified, unproved), (unproved, verified))):
        (merged,) = merge_searches([shard_of(tmp_path / f"{number}.json", *records)])
        assert (merged.record.bound, merged.verification) == (6, state)


def test_a_forged_bound_in_a_shard_is_rejected_or_ignored(lab: Lab, tmp_path: Path) -> None:
    """If proofs are regenerated, merging the shard fails. Otherwise, the bound is ignored."""
    folder = tmp_path / "home" / "records"
    forged = shard_of(tmp_path / "forged.json", FORGED)
    with pytest.raises(RejectedError, match="satisfiable"):
        lab.merge_records(forged)
    assert not folder.exists()
    unproved = lab.merge_records(forged, proofs=False)
    assert [(row["value"], row["bound"]) for row in unproved] == [(5, 4)]
    assert isinstance(unproved.failure, UncheckedError)
    assert "one-port-broadcast:Q4: not made again" in unproved.failure.message
    path = path_of(folder, "one-port-broadcast", "Q4")
    assert pair_of(load_record(path)) == (5, 4)
    right = lab.merge_records(shard_of(tmp_path / "right.json", FOUR_ROUNDS, FORGED), proofs=False)
    assert [(row["value"], row["bound"]) for row in right] == [(4, 4)]
    again = lab.merge_records(forged, proofs=False)
    assert [(row["value"], row["bound"]) for row in again] == [(4, 4)]
    assert pair_of(load_record(path)) == (4, 4)


def test_a_bound_in_a_merged_shard_is_accepted_after_its_proof_is_regenerated(
    lab: Lab, tmp_path: Path
) -> None:
    shards = shard_of(tmp_path / "a.json", *DIAMETERS.values())
    own = tmp_path / "own"
    merged = lab.merge_records(shards, folder=own)
    assert merged.failure is None
    assert [(row["value"], row["bound"]) for row in merged] == [(6, 6)]
    # The record that comes with starcast is as good, so no file is written.
    assert not own.exists()


def delayed(record: Record, rounds: int) -> Record:
    """Return a broadcast record whose last transmissions are delayed by some rounds."""
    times = record.witness["round"].astype(np.int64)
    witness = {**record.witness, "round": times + rounds * (times == times.max())}
    return replace(record, value=record.value + rounds, witness=witness, tried=())


def race(folder: Path) -> None:
    """Save good and bad records of the same topologies in four threads, in different orders."""
    specs = ["S4", "S5", "S4,2", "S5,2", "S5,3"]
    best = [delayed(shipped_record("one-port-broadcast", spec), 0) for spec in specs]
    records = [delayed(record, rounds) for record in best for rounds in (0, 1, 2, 3)]
    failures: list[Exception] = []

    def save(seed: int) -> None:
        try:
            for number in np.random.default_rng(seed).permutation(len(records)):
                save_record(folder, records[number], is_proved=True)
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=save, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    for record in best:
        path = path_of(folder, record.problem, record.topology)
        assert load_record(path).fields() == record.fields()
        assert len(list(path.parent.glob(f"{record.topology}.*.npz"))) == 1


def test_records_saved_at_the_same_time_do_not_replace_the_best_record_and_its_witness(
    tmp_path: Path,
) -> None:
    race(tmp_path)


@pytest.mark.slow
def test_records_saved_at_the_same_time_do_not_replace_the_best_record_in_50_repetitions(
    tmp_path: Path,
) -> None:
    for number in range(50):
        race(tmp_path / str(number))


@pytest.mark.slow
def test_four_simultaneous_merges_keep_the_best_record(tmp_path: Path) -> None:
    environment = {**os.environ, "STARCAST_HOME": str(tmp_path / "home")}
    files = [
        shard_of(tmp_path / f"{rounds}.json", delayed(FOUR_ROUNDS, rounds)) for rounds in range(4)
    ]
    words = [sys.executable, "-m", "starcast.cli.app", "records", "merge"]
    for number in range(10):
        folder = tmp_path / str(number)
        merges = [
            subprocess.Popen([*words, str(file), "--folder", str(folder)], env=environment)
            for file in files
        ]
        assert [merge.wait() for merge in merges] == [0] * 4
        assert pair_of(load_record(path_of(folder, "one-port-broadcast", "Q4"))) == (4, 4)
