"""The documentation page that compares networks: its tables agree with runs and with NetworkX."""

import re

import networks_compared as page
import networkx as nx
import pytest
from marked import BEGIN, END

from starcast.topologies import topology

TEXT = page.PAGE.read_text(encoding="utf-8")
SPECS = [spec for star in page.STARS for spec in page.networks(star)]
QUICK = ("S5", "SF7")
EVERY = pytest.mark.parametrize(
    "spec",
    [pytest.param(spec, marks=() if spec in QUICK else pytest.mark.slow) for spec in SPECS],
)


def lines(table: str) -> dict[str, str]:
    """Return the rows of a table on the comparison page, keyed by network."""
    text = TEXT.partition(BEGIN.format(table, "networks_compared.py"))[2].partition(END)[0]
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    return {line.split("`")[1]: line for line in rows}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("| ").split("|")]


@pytest.mark.slow
@EVERY
def test_times_rounds_and_properties_on_the_comparison_page_agree_with_the_runs(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    star = page.star_of(spec)
    monkeypatch.setattr(page, "networks", lambda of: [spec] if of == star else [])
    for collective in page.COLLECTIVES:
        table = f"{star}-{collective}"
        assert list(page.TABLES[table]())[2:] == [lines(table)[spec]]
    assert list(page.rounds())[2:] == [lines("rounds")[spec]]
    assert list(page.properties())[2:] == [lines("properties")[spec]]


@pytest.mark.slow
@EVERY
def test_times_relative_to_the_star_graph_on_the_comparison_page_agree_with_the_runs(
    spec: str,
) -> None:
    star = page.star_of(spec)
    found = [f"{value:.2f}" for value in page.ratios(star, spec)]
    assert found == cells(lines(f"{star}-shares")[spec])[1:]


@pytest.mark.slow
@pytest.mark.parametrize("star", page.STARS)
def test_times_of_all_algorithms_on_the_comparison_page_agree_with_the_runs(star: str) -> None:
    text = TEXT.partition(BEGIN.format(f"{star}-structure", "networks_compared.py"))[2]
    assert text.partition(END)[0].strip().splitlines() == list(page.structure(star))


@pytest.mark.slow
def test_with_equal_bandwidth_per_node_only_transmission_times_scale_with_the_degree() -> None:
    """T_c is multiplied by 11/4, the ratio of the degrees of SF7 and S5, but T_s is not."""
    plain = {
        run.point.structure: run
        for run in page.results("SF7")
        if run.point.message_bytes == page.LONG
    }
    for run in page.results("SF7", per_node=True):
        assert run.point.t_c * 4 == 11
        if run.point.execution == "synchronous":
            other = plain[run.point.structure]
            assert run.steps is not None
            start_ups = 100 * run.steps
            assert run.time - start_ups == (other.time - start_ups) * run.point.t_c


@EVERY
def test_network_properties_on_the_comparison_page_agree_with_networkx(spec: str) -> None:
    graph = nx.Graph()
    network = topology(spec)
    for port in network.ports:
        graph.add_edges_from(enumerate(network.neighbours(port).tolist()))
    graph.remove_edges_from(nx.selfloop_edges(graph))
    assert cells(lines("properties")[spec])[2:8] == [
        str(len(graph)),
        str(max(degree for _, degree in graph.degree())),
        f"{graph.number_of_edges():,}".replace(",", " "),
        str(nx.diameter(graph)),
        f"{nx.average_shortest_path_length(graph):.2f}",
        str(nx.edge_connectivity(graph)),
    ]


def test_no_time_on_the_comparison_page_is_below_its_lower_bound() -> None:
    for star in page.STARS:
        for collective in page.COLLECTIVES:
            rows = lines(f"{star}-{collective}")
            assert list(rows) == page.networks(star)
            for line in rows.values():
                assert float(cells(line)[2]) >= 1 <= float(cells(line)[5])
    for line in lines("rounds").values():
        assert int(cells(line)[2]) >= int(cells(line)[4])


def test_the_comparison_page_has_a_drawing_for_each_star_graph() -> None:
    for star in page.STARS:
        file = f"networks-compared-{star.lower()}.svg"
        assert f"]({file})" in TEXT
        labels = re.findall(r">([A-Z][\w,]*)</text>", page.PAGE.with_name(file).read_text())
        assert set(page.networks(star)) <= set(labels)


def share(spec: str, collective: str, unit: str) -> float:
    """Return the relative time (star graph: 1) that the comparison page states for a network."""
    column = 1 + 2 * page.COLLECTIVES.index(collective) + (unit == "node")
    return float(cells(lines(f"{page.star_of(spec)}-shares")[spec])[column])


def test_the_conclusions_on_the_comparison_page_follow_from_its_tables() -> None:
    degrees = {spec: topology(spec).degree for spec in SPECS}
    same = [spec for spec in SPECS if degrees[spec] == degrees[page.star_of(spec)]]
    for spec in {each for each in SPECS if not each.startswith("T")} - set(same):
        for collective in page.COLLECTIVES:
            assert share(spec, collective, "link") < 1
    for spec in set(same) - {"P5", *page.STARS}:
        assert share(spec, "alltoall", "link") > 1.1
    assert share("P5", "alltoall", "link") < 1.1
    for spec in SPECS:
        assert share(spec, "allgather", "node") < 1.1
    for spec in ("RR120,4,1", "RR720,5,1"):
        assert share(spec, "broadcast", "link") <= 1
    for spec in ("Q7", "DF3", "HX4x5x6", "Q9", "DF5", "HX8x9x10"):
        assert 0.85 < share(spec, "broadcast", "node") <= 1
        for collective in ("allgather", "allreduce"):
            assert share(spec, collective, "node") >= 1
        assert share(spec, "alltoall", "node") > 0.9
    for spec in ("SF7", "SF17"):
        for collective in ("broadcast", "alltoall"):
            assert share(spec, collective, "node") < 1
    for star in page.STARS:
        assert "`exact`" in lines(f"{star}-alltoall")[star]
        for collective in ("allgather", "allreduce"):
            assert lines(f"{star}-{collective}")[star].count("`dimension-change`") == 2


def test_star_graph_algorithms_have_the_advantage_stated_on_the_comparison_page() -> None:
    for star in page.STARS:
        text = TEXT.partition(BEGIN.format(f"{star}-structure", "networks_compared.py"))[2]
        rows = [cells(line) for line in text.partition(END)[0].strip().splitlines()[2:]]
        times = {
            (row[0], row[1].strip("`")): [
                int(cell.split("/")[-1].replace(" ", "")) for cell in row[3:5]
            ]
            for row in rows
        }
        trees = [times["broadcast", f"forest(base={name}-disjoint)"][1] for name in ("arc", "edge")]
        assert trees[0] <= trees[1] * 1.001
        for collective in ("allgather", "allreduce"):
            trees = times[collective, "forest(base=arc-disjoint)"]
            assert trees[1] < times[collective, "dimension-change"][1] * 9 / 8
        assert times["alltoall", "greedy"][1] < times["alltoall", "exact"][1] * 1.12
