"""The documentation of the exact alltoall: tables are correct, examples are reproducible."""

import doctest
import re
from collections import Counter

import exact_alltoall
import pytest
from marked import BEGIN, END

from oracles import exact_alltoall as exact
from oracles import schedule_rows, star_graph

TEXT = exact_alltoall.PAGE.read_text(encoding="utf-8")


def table(name: str) -> list[list[str]]:
    """Return the rows of a table on the page, without the header."""
    marked = TEXT.partition(BEGIN.format(name, "exact_alltoall.py"))[2].partition(END)[0]
    lines = [line for line in marked.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def numbers(name: str) -> list[list[int]]:
    """Return the rows of a table of numbers."""
    return [[int(cell.replace(" ", "")) for cell in row] for row in table(name)]


@pytest.mark.parametrize("n", [3, 4])
def test_the_schedules_printed_on_the_alltoall_page_take_the_minimum_number_of_steps(
    n: int,
) -> None:
    """The schedules are read from the tables, without the code that generated them."""
    place: dict[star_graph.Node, star_graph.Node] = {}
    hops = Counter[star_graph.Node]()
    rows = []
    for step, *cells in table(f"S{n}"):
        for port, cell in enumerate(cells, start=2):
            actual = re.fullmatch(r"\**(\d+) (\d+)/(\d+)\**", cell)
            if actual is None:
                assert cell == "idle"
                continue
            label, hop, length = actual.groups()
            x = star_graph.node_of(label)
            sender = place.get(x, star_graph.identity(n))
            place[x] = star_graph.swap(sender, port)
            hops[x] += 1
            assert int(hop) == hops[x]
            assert int(length) == star_graph.distances(star_graph.identity(n))[x]
            unit = star_graph.ranks(n)[x]
            rows.append(schedule_rows.Row(int(step), sender, port, place[x], 0, unit))
    assert exact.problems(rows, n, 1) == set()


@pytest.mark.parametrize("n", [3, 4])
def test_bold_cells_are_hops_to_short_necklaces_and_italic_cells_are_first_hops_sent_early(
    n: int,
) -> None:
    """In these tables on the alltoall page, a cell shows the hop over a port in a step."""
    cells = [(int(step), cell) for step, *row in table(f"S{n}") for cell in row]
    bold = [(step, cell) for step, cell in cells if cell.startswith("**")]
    italics = [(step, cell) for step, cell in cells if re.match(r"\*\d", cell)]
    labels = {cell.strip("*").split()[0] for _, cell in bold}
    assert labels == set(map(star_graph.label, exact.short_nodes(n)))
    assert all(" 1/" in cell for _, cell in italics)
    assert max(step for step, _ in italics) <= max(step for step, _ in bold)


def test_the_necklace_counts_on_the_alltoall_page_equal_those_of_the_oracle() -> None:
    """The counts also satisfy the inequality of Lemma 4 on the page."""
    for n, nodes, short, hops, full, left, right in numbers("necklaces"):
        assert short == len(exact.short_nodes(n))
        assert (hops, full) == (exact.short_hops(n), exact.full_necklaces(n))
        assert nodes == 1 + short + (n - 1) * full
        assert (left, right) == ((n - 2) * hops, (n - 1) * full)
        assert left <= right


def test_the_step_counts_for_one_message_on_the_alltoall_page_are_consistent() -> None:
    rows = numbers("construction")
    assert [row[0] for row in rows] == [*range(3, 9)]
    for n, total, hops, share, opening, early, full, by_rule_9, steps, bound in rows:
        assert total == star_graph.distance_sum_formula(n)
        assert share == star_graph.ceil_div(hops, n - 1)
        assert early == opening - share <= full
        assert steps == opening + (total - hops) // (n - 1) - early
        assert steps == bound == exact.fewest_steps(n, 1)
        assert by_rule_9 > steps


def test_the_step_counts_for_several_messages_on_the_alltoall_page_are_consistent() -> None:
    rows = numbers("messages")
    sizes = [[n, count] for n in range(3, 8) for count in range(2, n)]
    assert [row[:2] for row in rows] == sizes
    for n, count, total, hops, share, opening, early, groups, steps, bound in rows:
        assert total == count * star_graph.distance_sum_formula(n)
        assert share == star_graph.ceil_div(hops, n - 1)
        assert early == opening - share <= groups
        assert steps == bound == exact.fewest_steps(n, count)


def test_the_loads_on_the_alltoall_page_count_how_often_the_paths_cross_each_port() -> None:
    *paths, together = table("loads")
    for label, path, *loads in paths:
        word = [int(port) for port in path.split()]
        assert star_graph.label(star_graph.visited(star_graph.identity(4), word)[-1]) == label
        assert [int(load) for load in loads] == [word.count(port) for port in (2, 3, 4)]
    columns = zip(*(map(int, loads) for _, _, *loads in paths), strict=True)
    assert [sum(column) for column in columns] == [int(load) for load in together[2:]]


def test_the_python_session_on_the_alltoall_page_is_reproducible() -> None:
    result = doctest.testfile(str(exact_alltoall.PAGE), module_relative=False)
    assert result.attempted == 3
    assert result.failed == 0


def test_a_generated_table_without_a_marker_on_the_alltoall_page_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(exact_alltoall.TABLES, "nowhere", lambda: iter(["| a |"]))
    with pytest.raises(ValueError, match="does not contain the mark '<!-- table nowhere"):
        exact_alltoall.page()


def test_an_outdated_table_on_the_alltoall_page_is_regenerated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drifted = TEXT.replace("| 4 938 | 4 938 |", "| 4 939 | 4 938 |")
    assert drifted != TEXT
    monkeypatch.setattr(type(exact_alltoall.PAGE), "read_text", lambda *_, **__: drifted)
    assert exact_alltoall.page() == TEXT
