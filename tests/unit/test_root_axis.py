"""The root as an axis of experiments, and the centre of a topology as the root."""

import json
import shlex
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import starcast
from starcast import costs, schedule, simulate, topology
from starcast.cli.app import app
from starcast.comparison.compare import compare
from starcast.comparison.curves import panels
from starcast.comparison.listing import run_facts
from starcast.comparison.matching import Side
from starcast.comparison.sides import read_conditions, select_runs
from starcast.experiments.design import Design, Grid, as_toml, grid_command
from starcast.experiments.exchange_file import RunRecord
from starcast.experiments.execution import bound_cost, execute, price_run
from starcast.experiments.faults import resolve_faults
from starcast.experiments.point import Point, find_root
from starcast.support.runs import Run
from starcast.support.vocabulary import ExecutionModel
from starcast.topologies import Topology, as_topology, base
from support.examples import max_examples
from support.experiments import make_point
from support.irregular import SPECS, graph_of
from support.meeting import refused

MACHINE = costs.Machine(Fraction(100), Fraction(1))
TREE = "forest(base=breadth-first)"
MESH = {"topology": "Mesh4x5", "algorithm": TREE, "message_bytes": 64}


def rooted(root: str | None = None, spec: str = "Mesh4x5", **others: Any) -> Point:
    """Return an experiment point: a broadcast along a breadth-first tree."""
    return make_point(spec, "broadcast", "forest", base="breadth-first", root=root, **others)


def ran(point: Point) -> Run:
    """Execute an experiment point and return the run."""
    return price_run(point, execute(point))


def figures(run: Run, kind: str) -> tuple[int | None, Fraction]:
    """Return a run's number of steps and its time according to one kind of cost."""
    return next((cost.steps, cost.time) for cost in run.costs if cost.kind == kind)


def first_centre(graph: nx.Graph) -> int:
    """Return the lowest node in the centre that NetworkX computes."""
    return int(min(nx.center(graph)))


@pytest.mark.usefixtures("irregular")
@pytest.mark.parametrize("spec", [*SPECS, "Mesh4x5", "Mesh3x3", "Path8", "K3,4", "GP8,3"])
def test_the_centre_of_a_topology_is_the_lowest_rank_with_minimum_eccentricity(spec: str) -> None:
    t = topology(spec)
    assert t.centre() == first_centre(graph_of(t))


@max_examples(60)
@given(nodes=st.integers(2, 40), seed=st.integers(0, 10**6), more=st.integers(0, 30))
def test_the_centre_of_a_random_network_is_the_lowest_node_of_the_centre_in_networkx(
    nodes: int, seed: int, more: int
) -> None:
    graph = nx.random_labeled_tree(nodes, seed=seed)
    graph.add_edges_from(nx.gnm_random_graph(nodes, more, seed=seed).edges)
    # The labels are numbers, so ranks and nodes of NetworkX agree.
    assert starcast.network(graph, name="random").centre() == first_centre(graph)


@max_examples(30)
@given(nodes=st.integers(3, 30), seed=st.integers(0, 10**6), data=st.data())
def test_a_switch_is_neither_a_centre_nor_a_root(
    nodes: int, seed: int, data: st.DataObject
) -> None:
    graph = nx.random_labeled_tree(nodes, seed=seed)
    first = data.draw(st.integers(2, nodes))
    # The last nodes are switches, so that ranks and nodes of NetworkX agree.
    given = starcast.network(graph, name="hosts", switches=[*range(first, nodes)])
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    furthest = [max(lengths[node][other] for other in range(first)) for node in range(first)]
    assert given.centre() == furthest.index(min(furthest))
    for rank in range(first, nodes):
        with refused("is a switch, which has no messages of its own"):
            find_root(given, f"#{rank}")


def test_the_centre_of_a_topology_with_translations_is_rank_0_without_a_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Topology, "distances", None)
    assert [topology(spec).centre() for spec in ("S9", "S6,2", "Q12", "Ring600")] == [0] * 4


def test_a_centre_whose_computation_takes_too_many_searches_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(base, "MAX_SEARCHES", 3)
    ring = starcast.network(nx.cycle_graph(30), name="ring")
    for _ in range(2):
        with refused("is not known: finding it takes more than 3 searches", exit_code=7):
            ring.centre()


def test_a_root_given_by_label_or_by_rank_gives_the_same_experiment_point() -> None:
    assert rooted() == rooted("00") == rooted("#0")
    assert rooted("12") == rooted("#7")
    assert rooted("#7").root == "12"
    assert rooted("centre").root == "centre"
    assert rooted("centre") != rooted("12")
    assert rooted("centre").root_rank == rooted("12").root_rank == 7
    assert rooted("1234", "S4").root is rooted("#0", "S4").root is None
    assert rooted("centre", "S4").root == "centre"
    assert rooted("centre", "S4").root_rank == 0


def test_a_root_whose_label_is_the_word_centre_is_stored_by_its_rank() -> None:
    hub = starcast.network([("a", "b"), ("b", "c"), ("c", "centre")], name="words")
    named = rooted("#3", hub.spec)
    assert named.root == rooted("Centre", hub.spec).root == "#3"
    assert (named.root_rank, rooted("centre", hub.spec).root_rank) == (3, 1)
    assert Point.of(named) == named == rooted(named.root, hub.spec)


@pytest.mark.parametrize(
    ("spec", "root", "message"),
    [
        ("Mesh4x5", "99", "the root '99' is not valid on Mesh4x5: '99' is not a node of Mesh4x5"),
        ("Mesh4x5", "", "the root '' is not valid on Mesh4x5"),
        ("Mesh4x5", "#20", "the root '#20' is not valid on Mesh4x5: Mesh4x5 has no"),
        ("S4", "1123", "the root '1123' is not valid on S4"),
        ("S4", "#" + "9" * 30, "the root '#999"),
        ("S4", "center", "the root 'center' is not valid on S4"),
    ],
)
def test_a_root_that_is_not_a_node_is_refused(spec: str, root: str, message: str) -> None:
    with refused(message):
        rooted(root, spec)
    with refused(message):
        Grid({**MESH, "topology": spec, "root": root})


@pytest.mark.parametrize("value", [1.5, True, None, -1, b"12"])
def test_a_root_that_is_neither_text_nor_a_rank_is_refused(value: object) -> None:
    with refused("root is"):
        Grid({**MESH, "root": value})


def test_a_root_is_refused_for_collectives_without_a_root() -> None:
    """In a grid that also contains collectives with a root, the root is ignored for the others."""
    with refused("the collective allgather has no root"):
        make_point("Mesh4x5", "allgather", "forest", base="breadth-first", root="12")
    with refused("none of these collectives has a root: allgather, allreduce"):
        Grid({**MESH, "collective": ["allgather", "allreduce"], "root": "centre"})
    both = Grid({**MESH, "collective": ["allgather", "gather"], "root": ["centre", "#0"]})
    assert {(point.collective, point.root) for point in both.points()} == {
        ("allgather", None), ("gather", None), ("gather", "centre"),
    }  # fmt: skip


def test_the_roots_of_an_experiment_grid_are_the_same_in_json_in_toml_and_in_the_command() -> None:
    grid = Grid({**MESH, "topology": ["S4", "Mesh4x5"], "root": ["centre", 3, 0]})
    assert grid.axes["root"] == ("#0", "#3", "centre")
    assert Grid(grid.as_json()) == grid
    assert 'root = ["#0", "#3", "centre"]' in as_toml(Design((grid,)).as_json())
    words = shlex.split(grid_command(grid.as_json(), "e"))
    assert [words[at + 1] for at, word in enumerate(words) if word == "--root"] == [
        "#0", "#3", "centre",
    ]  # fmt: skip
    assert "root" not in Grid(MESH).as_json()
    assert [point.root for point in Grid(MESH).points()] == [None]


@pytest.mark.parametrize("collective", ["broadcast", "scatter", "gather", "reduce"])
@pytest.mark.parametrize("ports", ["all", "one"])
@pytest.mark.parametrize("execution", ["synchronous", "asynchronous"])
def test_simulated_times_and_lower_bounds_of_a_run_use_the_given_root(
    collective: str, ports: str, execution: ExecutionModel
) -> None:
    mesh = topology("Mesh4x5")
    graph = graph_of(mesh)
    for root, rank in [("centre", first_centre(graph)), ("34", 19), (None, 0)]:
        point = make_point(
            "Mesh4x5", collective, "forest", ports, base="breadth-first", root=root,
            execution=execution, message_bytes=60,
        )  # fmt: skip
        run = ran(point)
        built = schedule(mesh, collective, "forest", ports=ports, root=rank, base="breadth-first")
        expected = simulate(built)
        steps, time = figures(run, "simulated")
        assert (run.status, steps) == ("complete", expected.steps)
        unit = Fraction(60, built.message_units)
        assert time == starcast.timing(built, unit, 100, 1, execution=execution).time
        messages = 1 if collective in ("scatter", "gather") else None
        bound = costs.lower_bound(
            mesh, collective, ports, Fraction(60), MACHINE, messages=messages, root=rank
        )
        assert figures(run, "lower bound") == (bound.steps, bound.time)
        assert bound.start_ups >= nx.eccentricity(graph, rank)


@pytest.mark.parametrize("ports", ["all", "one"])
def test_all_costs_of_a_broadcast_on_s4_are_the_same_for_different_roots(ports: str) -> None:
    runs = [
        ran(make_point("S4", "broadcast", "multiple", ports, 3, 1024, root=root))
        for root in (None, "4321", "2134", "centre")
    ]
    for kind in ("simulated", "closed form", "lower bound"):
        assert len({figures(run, kind) for run in runs}) == 1
    (point, _) = points = Grid({
        "topology": "S4", "algorithm": "multiple", "message_bytes": 4096, "segments": "best",
        "root": ["#0", "4321"],
    }).points()  # fmt: skip
    assert {each.segments for each in points} == {point.segments}


@given(
    st.sampled_from(("S4", "Q3", "Mesh4x5")), st.integers(1, 7), st.integers(0, 2**40), st.data()
)
def test_randomly_drawn_faults_never_include_the_root(
    spec: str, amount: int, seed: int, data: st.DataObject
) -> None:
    t = topology(spec)
    root = data.draw(st.integers(0, t.nodes - 1))
    ranks = {t.rank(label) for label in resolve_faults(t, f"{amount} nodes", seed, root)}
    assert len(ranks) == amount
    assert root not in ranks
    # With root 0, the same faults are drawn as in stored runs.
    random = np.random.default_rng(seed)
    usual = 1 + random.choice(t.nodes - 1, size=amount, replace=False)
    drawn = resolve_faults(t, f"{amount} nodes", seed)
    assert {t.rank(label) for label in drawn} == set(usual.tolist())


def test_every_node_except_the_root_can_be_randomly_drawn_as_a_fault() -> None:
    mesh = topology("Mesh4x5")
    drawn = {resolve_faults(mesh, "1 node", seed, 7)[0] for seed in range(400)}
    assert drawn == {*mesh.labels().tolist()} - {"12"}


def test_an_experiment_grid_draws_faults_separately_for_each_root() -> None:
    grid = Grid({**MESH, "root": ["centre", "34"], "faults": "19 nodes", "seed": 5})
    for point in grid.points():
        left = {*topology("Mesh4x5").labels().tolist()} - {*point.faults}
        assert left == {"12" if point.root == "centre" else "34"}
        run = ran(point)
        assert (run.status, run.missing) == ("complete", 0)


def test_runs_in_files_of_earlier_versions_which_have_no_root_are_read() -> None:
    usual, central = (RunRecord.of(ran(rooted(root)), ()).model_dump(mode="json")
                      for root in (None, "centre"))  # fmt: skip
    assert central["root"] == "centre"
    assert RunRecord.model_validate(central).point == rooted("centre")
    del usual["root"]
    assert RunRecord.model_validate(usual).point == rooted()
    assert bound_cost(RunRecord.model_validate(central).point, takes_messages=False).steps == 4


def test_runs_from_the_centre_are_compared_across_topologies() -> None:
    runs = [ran(rooted("centre", spec)) for spec in ("Mesh4x5", "S4")]
    comparison = compare([Side("e", tuple(runs))], across=["topology"]).complete
    assert [each.name for each in comparison.sides] == ["e/Mesh4x5", "e/S4"]
    (row,) = comparison.rows()
    assert (row["note"], row["root"], row["steps_e_Mesh4x5"]) == (None, "centre", 4)
    assert comparison.networks == [
        "Mesh4x5: 20 nodes of degrees 2 to 4, 31 links, centre 12",
        "S4: 24 nodes of degree 3, 36 links, centre 1234",
    ]
    (panel,) = panels(comparison)
    assert panel.name.startswith("broadcast on Mesh4x5 | S4 from centre, all-port")


def test_runs_with_different_roots_are_compared_only_on_request() -> None:
    runs = {root: ran(rooted(root)) for root in (None, "centre", "34")}
    sides = [Side("usual", (runs[None],)), Side("other", (runs["centre"],))]
    (row,) = compare(sides).rows()
    assert row["note"] == "different root (-, centre)"
    assert compare(sides).blocking_axes() == ["root"]
    crossed = compare([Side("e", tuple(runs.values()))], across=["root"])
    assert [each.name for each in crossed.sides] == ["e/root=-", "e/root=centre", "e/root=34"]
    (row,) = crossed.rows()
    assert (row["root_e_root"], row["root_e_root_34"]) == (None, "34")
    assert row["best"] == "e/root=centre"
    assert {panel.name for panel in panels(compare(sides).complete)} >= {
        "broadcast on Mesh4x5 from centre, all-port, synchronous, t_s = 100, t_c = 1"
    }
    mesh = as_topology(runs[None].topology)
    asked = {None: ["-", "#0", mesh.label(0)], "34": ["34", f"#{mesh.node('34')}"]}
    asked["centre"] = ["centre"]
    for root, text in ((root, text) for root, texts in asked.items() for text in texts):
        (chosen,) = select_runs(
            [Side("e", tuple(runs.values()))], read_conditions([f"root={text}"])
        )
        assert chosen.runs == (runs[root],)


@pytest.mark.parametrize("text", ["-", "#0"])
def test_runs_of_collectives_without_a_root_count_as_runs_with_the_default_root(text: str) -> None:
    run = ran(make_point("S3", "alltoall", "exact"))
    (chosen,) = select_runs([Side("e", (run,))], read_conditions([f"root={text}"]))
    assert chosen.runs == (run,)


def test_conditions_accept_every_spelling_of_faults() -> None:
    faulty = {
        "none": ran(rooted()),
        "23": ran(rooted(faults=("23",))),
        "23@2": ran(rooted(faults=("23@2",))),
        "12-13 31": ran(rooted(faults=("12-13", "31"))),
    }
    mesh = as_topology(faulty["none"].topology)
    rank = {label: f"#{mesh.node(label)}" for label in ("13", "12", "23", "31")}
    asked = {
        "none": ["none"],
        "23": ["23", rank["23"], "23@1", f"{rank['23']}  23"],
        "23@2": ["23@2", f"{rank['23']}@2"],
        "12-13 31": ["31 12-13", "13-12 31@1", f"{rank['13']}-{rank['12']} {rank['31']}"],
    }
    for faults, texts in asked.items():
        for text in texts:
            (chosen,) = select_runs(
                [Side("e", tuple(faulty.values()))], read_conditions([f"faults={text}"])
            )
            assert chosen.runs == (faulty[faults],)


def test_a_listed_run_from_the_centre_states_the_label_of_the_centre() -> None:
    facts = run_facts(ran(rooted("centre")), "e")
    assert (facts["root"], facts["root_label"]) == ("centre", "12")
    assert "--root centre" in facts["reproduce"]
    assert "root_label" not in run_facts(ran(rooted("34")), "e")


def test_the_run_command_uses_the_given_root() -> None:
    runner = CliRunner()
    for root in ("centre", "34", "#19"):
        words = rooted(root).command().split()[1:]
        result = runner.invoke(app, [*words, "--no-store", "--format", "json"])
        assert result.exit_code == 0, result.output
        (steps,) = {row["steps"] for row in json.loads(result.output) if row["cost"] == "simulated"}
        assert steps == figures(ran(rooted(root)), "simulated")[0]
    result = runner.invoke(app, ["run", "once", "--help"], env={"COLUMNS": "200"})
    assert "the node of rank 0" in " ".join(result.output.split())


def test_find_root_accepts_every_stored_form_of_a_root() -> None:
    """A root is stored as null, as the word centre, as a label, or as # and a rank."""
    mesh = topology("Mesh4x5")
    assert [find_root(mesh, root) for root in (None, "centre", "34", "#3")] == [0, 7, 19, 3]
