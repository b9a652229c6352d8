"""Benchmarks: other libraries compute the same results, and worse speed ratios are reported."""

import json
from fractions import Fraction
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from benchmarks import libraries, report
from benchmarks.__main__ import MODULES
from benchmarks.construction import search_breadth_first
from benchmarks.measure import Figure, Growth, Table
from benchmarks.simulation import list_rows

from starcast import forest, schedule, topology
from starcast.costs import Machine, bottleneck_cut
from starcast.support.errors import InputError


def test_numpy_builds_the_same_table_of_neighbours_as_starcast() -> None:
    """Both tables list the permutations in lexicographic order."""
    assert np.array_equal(libraries.build_numpy(5), topology("S5").table())


def test_graphs_built_with_other_libraries_have_the_links_of_the_topology() -> None:
    s4 = topology("S4")
    links = libraries.list_links(s4)
    assert len(links) == s4.links
    for edges in (
        libraries.build_networkx(links).edges(),
        libraries.build_igraph(links).get_edgelist(),
        libraries.build_rustworkx(links).edge_list(),
    ):
        assert {tuple(sorted(map(int, edge))) for edge in edges} == set(links)


HEIGHTS = [libraries.heights_networkx, libraries.heights_igraph, libraries.heights_rustworkx]


def test_all_libraries_compute_the_same_tree_heights_as_starcast() -> None:
    trees = forest("S5", "multiple")
    expected = list(trees.heights)
    parents = libraries.parents_of(trees)
    assert list(map(libraries.heights_numpy, parents)) == expected
    for height in HEIGHTS:
        assert [height(edges, 120) for edges in libraries.list_edges(trees)] == expected


def test_libraries_refuse_edges_that_are_not_a_spanning_tree() -> None:
    """One edge list contains a cycle that the root cannot reach. The other list omits a node."""
    for edges in [[(0, 1), (0, 2), (3, 4), (4, 3)], [(0, 1), (1, 2), (2, 3)]]:
        for height in HEIGHTS:
            with pytest.raises(Exception, match=r"spanning tree|cycle"):
                height(edges, 5)
    with pytest.raises(ValueError, match="cycle"):
        libraries.heights_numpy(np.array([0, 0, 3, 2], dtype=np.int32))


def test_the_breadth_first_search_in_numpy_finds_shortest_paths() -> None:
    s5 = topology("S5")
    parents = search_breadth_first(s5.table())
    levels = s5.distances()
    assert np.array_equal(levels[parents[1:]], levels[1:] - 1)


def test_the_plain_python_simulator_executes_a_broadcast_and_finds_errors() -> None:
    judged = schedule("S4", "broadcast", "multiple", segments=2)
    rows = [list(row) for row in list_rows(judged)]
    graph = libraries.build_networkx(libraries.list_links(judged.topology))
    assert libraries.execute(rows, graph.has_edge) == 24 * judged.units
    for column, value in ((1, 23), (2, 23)):
        broken = [list(row) for row in rows]
        broken[0][column] = value
        with pytest.raises(ValueError, match="lacks the unit or the link"):
            libraries.execute(broken, graph.has_edge)


def test_cp_sat_finds_the_minimum_number_of_steps_of_an_allgather() -> None:
    """Ring6 needs 3 steps, its diameter. K3,4 needs 2, as some nodes get 6 units over 3 links."""
    peers = pytest.importorskip("benchmarks.peers")
    for spec, steps in (("Ring6", 3), ("K5", 1), ("K3,4", 2), ("GP5,2", 3)):
        assert peers.find_optimum(topology(spec), 9) == steps


def test_a_cluster_converted_from_forestcoll_keeps_its_switches_and_capacities() -> None:
    """Each GPU receives two units over a link of capacity 4, so the allgather time is 2/4."""
    peers = pytest.importorskip("benchmarks.peers")
    gpus = [(0, "GPU", number) for number in range(3)]
    graph = nx.DiGraph()
    for gpu in gpus:
        graph.add_edge(gpu, (0, "NVSwitch", 0), capacity=4)
        graph.add_edge((0, "NVSwitch", 0), gpu, capacity=4)
    cluster = peers.as_network(graph, gpus)
    assert (cluster.endpoints, cluster.nodes) == (3, 4)
    machine = Machine(Fraction(0), Fraction(1))
    assert bottleneck_cut(cluster, Fraction(1), machine).time == Fraction(1, 2)


def test_every_benchmark_has_a_section_on_the_benchmark_page() -> None:
    assert set(report.SECTIONS) == set(MODULES)


def test_the_speedup_is_above_1_if_starcast_is_faster_and_below_1_if_it_is_slower() -> None:
    """A shorter time or a higher rate means that starcast is faster."""
    assert Figure("build", 2.0, "s", "< 5", "copy", 1.0).speedup == 0.5
    assert Figure("load", 200.0, "rows/s", "> 5", "INSERT", 50.0).speedup == 4.0


def record(version: str, **ratios: float) -> report.Record:
    return report.Record(version, "2026-11-23", "a machine", (1.0, 2.0), ratios)


def test_the_file_of_benchmark_ratios_has_one_record_per_version(tmp_path: Path) -> None:
    """A second benchmark run of the same version updates the record of that version.

    Comparisons use the record of the previous version.
    """
    file = tmp_path / "ratios.jsonl"
    assert report.find_previous("1.0", file) is None
    report.keep_record(record("1.0", a=2.0, b=3.0), file)
    report.keep_record(record("1.0", a=2.5), file)
    first, second = record("1.0", a=2.5, b=3.0), record("1.1", a=1.0)
    assert report.find_previous("1.0", file) == first
    assert report.find_previous("1.1", file) == first
    report.keep_record(second, file)
    report.keep_record(second, file)
    assert report.find_previous("1.1", file) == first
    assert report.read_records(file) == [first, second]


def test_a_speedup_that_is_much_lower_than_in_the_previous_version_is_reported() -> None:
    before = record("1.0", a=2.0, b=2.0, c=2.0)
    now = record("1.1", a=1.0, b=1.5, d=1.0)
    assert report.find_regressions(now, before) == [
        "a: 1 times as fast as the yardstick, 2 times in 1.0 (2026-11-23)"
    ]
    assert report.find_regressions(now, None) == []


@pytest.mark.parametrize("line", ["{", "[]", '{"version": "1"}', json.dumps({"load": 1})])
def test_a_damaged_file_of_benchmark_ratios_is_reported_with_the_line_number(
    tmp_path: Path, line: str
) -> None:
    file = tmp_path / "ratios.jsonl"
    file.write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1 of .*ratios.jsonl is not a record"):
        report.read_records(file)


def test_the_benchmark_page_shows_measurements_plots_and_worse_ratios(tmp_path: Path) -> None:
    """Plotting the same results twice gives byte-identical files."""
    growth = Growth("Time in ns", {"numpy": {"S10": 3.0, "S9": 2.0}, "starcast": {"S9": 1.0}})
    results: dict[str, list[report.Result]] = {
        "construction": [Figure("build", 2.0, "s", "< 5", "copy | move", 1.0), growth],
        "packs": [Table("Queries", ["query"], [{"query": "a/b"}])],
    }
    now = report.make_record(results, 1.0)
    assert now.ratios == {"build | copy | move": 0.5}
    before = record("0.0", **{"build | copy | move": 5.0})
    page = tmp_path / "page.md"
    report.write_page(results, now, before, page)
    text = page.read_text(encoding="utf-8")
    assert "1 of 1 ratios are worse than those of 0.0" in text
    assert "| build | 2 | s | < 5 | yes | copy \\| move | 0.5 |" in text
    assert "| S9 | 2 | 1 |\n| S10 | 3 |  |" in text
    picture = tmp_path / "benchmarks-construction-1.svg"
    drawn = picture.read_bytes()
    report.plot_growth(growth, picture)
    assert picture.read_bytes() == drawn


def test_the_benchmark_ratios_in_the_repository_can_be_read() -> None:
    assert all(each.ratios for each in report.read_records())
