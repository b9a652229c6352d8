"""Measured query times: reading the measurement file, and ignoring outdated revisions."""

import json
from pathlib import Path

import pytest
import query_packs
from query_packs import FASTER, SLOW, faster_library

from starcast.queries import find, load_queries
from starcast.queries.pack import LARGEST, SIZES, Figures, Measurements, measurements
from starcast.support.errors import InputError, RejectedError

DOCUMENT = {
    "machine": "2 cores",
    "neo4j": "2026.08.1",
    "timeout": 30.0,
    "queries": {
        "paths/shortest-path": {
            "revision": 3,
            "seconds": {"S6": 0.00432, "S7": 0.5, "S8": None},
            "others": {"numpy": 0.02},
        }
    },
}


def test_query_times_are_measured_for_the_current_revision_of_every_query() -> None:
    """To repeat the measurements, run: python -m benchmarks packs --write."""
    for query in load_queries().values():
        figures = measurements().find(query)
        assert figures is not None, f"{query.name} was not measured at this revision"
        assert set(figures.seconds) == set(SIZES)
        assert 0 < (figures.seconds[SIZES[0]] or 0) < 1
    assert set(measurements().queries) == set(load_queries())


def test_a_measurement_file_is_read_and_its_times_are_formatted(tmp_path: Path) -> None:
    known = measurements(written(tmp_path, DOCUMENT))
    assert (known.machine, known.neo4j) == ("2 cores", "2026.08.1")
    figures = known.queries["paths/shortest-path"]
    shown = [known.format_seconds(figures, spec) for spec in (*SIZES, "S9")]
    assert shown == ["0.0043", "0.5", "> 30", ""]
    assert dict(figures.others) == {"numpy": 0.02}


def test_without_a_measurement_file_there_are_no_measurements(tmp_path: Path) -> None:
    assert measurements(tmp_path / "measured.json") == Measurements()
    assert measurements(tmp_path / "measured.json").describe(find("shortest-path")) == ""


def test_a_measurement_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        measurements(tmp_path)


@pytest.mark.parametrize(
    "change",
    [{"queries": None}, {"queries": {"a": {}}}, {"timeout": "long"}, {"queries": {"a": 1}}, None],
)
def test_an_invalid_measurement_file_is_refused(
    tmp_path: Path, change: dict[str, object] | None
) -> None:
    path = written(tmp_path, {**DOCUMENT, **(change or {})})
    if change is None:
        path.write_text("seconds: 3")
    with pytest.raises(RejectedError, match="is not a valid measurement file") as caught:
        measurements(path)
    assert "benchmarks" in caught.value.hint


def written(folder: Path, document: object) -> Path:
    path = folder / "measured.json"
    path.write_text(json.dumps(document))
    return path


def figures(revision: int, largest: float | None = 0.5, **others: float) -> Figures:
    return Figures(revision=revision, seconds={"S6": 0.01, LARGEST: largest}, others=others)


def test_query_times_measured_at_another_revision_are_ignored() -> None:
    query = find("shortest-path")
    current = query.header.revision
    assert Measurements(queries={query.name: figures(current)}).find(query) is not None
    assert Measurements(queries={query.name: figures(current + 1)}).find(query) is None


def test_a_copy_of_a_query_in_another_folder_has_no_measured_times(tmp_path: Path) -> None:
    """The copy may have been edited since it was made."""
    query = find("shortest-path")
    copy = tmp_path / "paths" / "shortest-path.cypher"
    copy.parent.mkdir()
    copy.write_text(query.text)
    known = Measurements(queries={query.name: figures(query.header.revision)})
    assert find(str(copy)).name == query.name
    assert known.find(find(str(copy))) is None


def test_the_measured_times_of_a_query_are_described_in_one_line() -> None:
    query = find("shortest-path")
    known = Measurements(
        queries={query.name: figures(query.header.revision, None, numpy=0.004, igraph=0.2)}
    )
    expected = (
        f"measured time: S6 0.01 s, {LARGEST} > 30 s; "
        f"for comparison, on {LARGEST}: numpy 0.004 s, igraph 0.2 s"
    )
    assert known.describe(query) == expected


def test_cypher_is_the_wrong_tool_if_it_is_slow_and_another_library_is_much_faster() -> None:
    """A query that did not finish counts as taking 30 seconds, the time limit."""
    for largest, others, faster in [
        (2 * SLOW, {"numpy": 2 * SLOW / FASTER, "igraph": 5.0}, ("numpy", FASTER)),
        (2 * SLOW, {"numpy": 2.1 * SLOW / FASTER}, None),
        (SLOW, {"numpy": 1e-6}, None),
        (None, {"numpy": 0.1, "networkx": 0.01}, ("networkx", 3000.0)),
        (100 * SLOW, {}, None),
    ]:
        expected: object = faster and (faster[0], pytest.approx(faster[1]))
        assert faster_library(figures(1, largest, **others), 30.0) == expected


def test_the_query_page_lists_the_queries_for_which_cypher_is_the_wrong_tool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow, quick = find("shortest-path"), find("neighbours")
    known = Measurements(
        machine="2 cores",
        neo4j="2026.08.1",
        queries={
            slow.name: figures(slow.header.revision, 4.0, numpy=0.01, igraph=0.1),
            quick.name: figures(quick.header.revision, 0.002, numpy=1e-5),
        },
    )
    monkeypatch.setattr(query_packs, "measurements", lambda: known)
    page = query_packs.page()
    rule = (
        f"takes more than {SLOW:g} s on {LARGEST}, if another library is at least {FASTER:g} times"
    )
    assert rule in " ".join(page.split())
    assert f"| `{slow.name}` | 4 | numpy | 0.01 | 400 |" in page
    assert f"| `{quick.name}` |" not in page
    for query in (slow, quick):
        assert known.describe(query) in page.split(f"### {query.name}\n")[1].split("\n### ")[0]


def test_the_query_page_states_if_no_query_is_slow_or_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quick = find("neighbours")
    known = Measurements(
        machine="2 cores", queries={quick.name: figures(quick.header.revision, 0.002)}
    )
    monkeypatch.setattr(query_packs, "measurements", lambda: known)
    assert "Cypher is not the wrong tool for any of these queries" in query_packs.page()
    monkeypatch.setattr(query_packs, "measurements", Measurements)
    assert "No measurements exist" in query_packs.page()
