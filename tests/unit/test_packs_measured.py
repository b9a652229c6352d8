"""What queries were measured to take: read from the benchmark's file, and shown with nothing that is out of date."""

import json
from pathlib import Path

import pytest

from starcast.errors import RejectedError
from starcast.queries import Query, catalogue, find, load_queries
from starcast.queries.measured import (
    FASTER,
    LARGEST,
    SIZES,
    SLOW,
    Figures,
    Measurements,
    measurements,
    read,
)

TOLD = {
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


@pytest.mark.parametrize("query", load_queries().values(), ids=lambda query: query.name)
def test_every_shipped_query_is_measured_as_it_is_now(query: Query) -> None:
    """Where this fails: python -m benchmarks packs --write."""
    figures = measurements().find(query)
    assert figures is not None, "not measured at this revision: python -m benchmarks packs --write"
    assert set(figures.seconds) == set(SIZES)
    first = figures.seconds[SIZES[0]]
    assert first is not None
    assert first < 1


def test_nothing_is_measured_that_is_not_shipped() -> None:
    assert set(measurements().queries) <= set(load_queries())


def test_the_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    found = read(written(tmp_path, TOLD))
    assert (found.machine, found.neo4j) == ("2 cores", "2026.08.1")
    figures = found.queries["paths/shortest-path"]
    assert [figures.format_seconds(spec) for spec in (*SIZES, "S9")] == ["0.0043", "0.5", "> 30", ""]
    assert dict(figures.others) == {"numpy": 0.02}


def test_without_the_file_nothing_is_measured(tmp_path: Path) -> None:
    assert read(tmp_path / "measured.json") == Measurements()
    assert read(tmp_path / "measured.json").told(find("shortest-path")) == ""


@pytest.mark.parametrize(
    "change",
    [{"queries": None}, {"queries": {"a": {}}}, {"timeout": "long"}, {"queries": {"a": 1}}],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    path = written(tmp_path, {**TOLD, **change})
    with pytest.raises(RejectedError, match="not of the form") as refused:
        read(path)
    assert "benchmarks" in refused.value.hint


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    path.write_text("seconds: 3")
    with pytest.raises(RejectedError):
        read(path)


def written(folder: Path, told: object) -> Path:
    path = folder / "measured.json"
    path.write_text(json.dumps(told))
    return path


def figures(revision: int, largest: float | None = 0.5, **others: float) -> Figures:
    return Figures(revision, {"S6": 0.01, LARGEST: largest}, others, 30.0)


def test_figures_of_another_revision_are_those_of_another_query() -> None:
    query = find("shortest-path")
    now = query.header.revision
    assert Measurements(queries={query.name: figures(now)}).of(query) is not None
    assert Measurements(queries={query.name: figures(now + 1)}).of(query) is None


def test_a_file_of_the_same_name_elsewhere_has_no_figures(tmp_path: Path) -> None:
    """Somebody's copy of a shipped query may have been changed."""
    query = find("shortest-path")
    copy = tmp_path / "paths" / "shortest-path.cypher"
    copy.parent.mkdir()
    copy.write_text(query.text)
    known = Measurements(queries={query.name: figures(query.header.revision)})
    assert find(str(copy)).name == query.name
    assert known.of(find(str(copy))) is None


def test_figures_are_told_in_one_sentence() -> None:
    query = find("shortest-path")
    known = Measurements(
        queries={query.name: figures(query.header.revision, None, numpy=0.004, igraph=0.2)}
    )
    words = f"measured: S6 0.01 s, {LARGEST} > 30 s; the same question on {LARGEST}: numpy 0.004 s, igraph 0.2 s"
    assert known.told(query) == words


@pytest.mark.parametrize(
    ("largest", "others", "better"),
    [
        (2 * SLOW, {"numpy": 2 * SLOW / FASTER, "igraph": 5.0}, ("numpy", FASTER)),
        (2 * SLOW, {"numpy": 2.1 * SLOW / FASTER}, None),
        (SLOW, {"numpy": 1e-6}, None),
        (None, {"numpy": 0.1, "networkx": 0.01}, ("networkx", 3000.0)),
        (100 * SLOW, {}, None),
    ],
)
def test_cypher_is_the_wrong_tool_where_it_is_slow_and_another_is_much_faster(
    largest: float | None, others: dict[str, float], better: tuple[str, float] | None
) -> None:
    """What did not end took at least the time-out."""
    found = figures(1, largest, **others).better()
    assert (found is None) == (better is None)
    if found is not None and better is not None:
        assert found[0] == better[0]
        assert found[1] == pytest.approx(better[1])


def test_the_catalogue_says_where_cypher_is_the_wrong_tool_and_by_which_rule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow, quick = find("shortest-path"), find("neighbours")
    known = Measurements(
        "2 cores",
        "2026.08.1",
        {
            slow.name: figures(slow.header.revision, 4.0, numpy=0.01, igraph=0.1),
            quick.name: figures(quick.header.revision, 0.002, numpy=1e-5),
        },
    )
    monkeypatch.setattr(catalogue, "measurements", lambda: known)
    page = catalogue.build_page()
    assert f"more than {SLOW:g} s on {LARGEST}" in page
    assert f"another library at least {FASTER:g}\ntimes less" in page
    assert f"| `{slow.name}` | 4 | numpy | 0.01 | 400 |" in page
    assert f"| `{quick.name}` |" not in page
    for query in (slow, quick):
        assert known.told(query) in page.split(f"### {query.name}\n")[1].split("\n### ")[0]


def test_the_catalogue_says_when_cypher_is_nowhere_wrong_and_when_nobody_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quick = find("neighbours")
    known = Measurements(
        "2 cores", "2026.08.1", {quick.name: figures(quick.header.revision, 0.002)}
    )
    monkeypatch.setattr(catalogue, "measurements", lambda: known)
    assert "nowhere among the shipped queries" in catalogue.build_page()
    monkeypatch.setattr(catalogue, "measurements", Measurements)
    assert "Nobody has measured" in catalogue.build_page()
