"""Rows and checksums equal a direct computation, and checksums depend on every column."""

from collections.abc import Callable
from itertools import chain

import numpy as np
import pytest

from starcast.collectives import schedule
from starcast.ingest import Plan
from starcast.stores.graph import artifacts
from starcast.stores.graph.artifacts import FACTOR, MODULUS, Rows, graph_artifact
from starcast.stores.graph.schema import LINK, TREE_EDGE
from starcast.support.errors import RejectedError
from starcast.topologies import topology
from starcast.topologies.stars import Star
from starcast.trees import forest
from support.checks import same_rows
from support.plans import PLAN, plan


def mixed(values: list[int]) -> int:
    """Return the checksum of one row, computed with Python integers."""
    h = 1
    for value in [*values, 0, 0]:
        h = (h * h + FACTOR * (value % MODULUS) + 1) % MODULUS
    return h


def listed(part: Rows) -> list[tuple[int, ...]]:
    """Return each row as a tuple of its start, its end and the other columns."""
    return list(map(tuple, part.table.T.tolist()))


@pytest.mark.whole
@pytest.mark.parametrize(
    "spec", ["S2", "S3", "S4", "S5", "S2,1", "S4,1", "S4,2", "S5,2", "S5,3", "S4,3", "Q1", "Q4"]
)
def test_a_link_is_stored_with_the_port_at_its_lower_ranked_node(spec: str) -> None:
    """Only this port is stored, although a residual link has different ports at its two ends."""
    network = topology(spec)
    across = {port: network.neighbours(port).tolist() for port in network.ports}
    expected = [
        (a, b, port)
        for a in range(network.nodes)
        for port in network.ports
        if (b := across[port][a]) > a
    ]
    assert listed(graph_artifact(network).rows) == sorted(expected)
    assert len({(a, b) for a, b, _ in expected}) == network.links


@pytest.mark.parametrize(
    ("spec", "construction", "root"),
    [
        *[("S4", name, "3142") for name in ("greedy", "multiple", "recursive-substar")],
        *[("S5,3", name, "425") for name in ("nk-greedy", "nk-multiple")],
        *[("Q4", name, "0110") for name in ("binomial", "edge-disjoint-binomial")],
    ],
)
def test_tree_edges_lead_from_parents_to_children(spec: str, construction: str, root: str) -> None:
    """Parent, child, tree, level, parent's port and subtree agree with the forest's array."""
    built_forest = forest(spec, construction, root)
    topology = built_forest.topology
    tree, child = np.nonzero(built_forest.parent_port)
    parent, level = built_forest.parents()[tree, child], built_forest.levels()[tree, child]
    port = [topology.reverse_port(int(port)) for port in built_forest.parent_port[tree, child]]
    # Every node is in the subtree of each edge on its path to the root.
    above = built_forest.parents()
    below = np.zeros_like(above)
    for each, node in zip(tree.tolist(), child.tolist(), strict=True):
        while node >= 0:
            below[each, node] += 1
            node = int(above[each, node])  # noqa: PLW2901 - one step towards the root
    table = np.stack([parent, child, tree, level, port, below[tree, child]])
    expected = sorted(map(tuple, table.T.tolist()))
    assert listed(graph_artifact(built_forest).rows) == expected
    assert len(expected) == built_forest.trees * (topology.nodes - 1)
    for sender, receiver, *_, number, _ in expected:
        assert topology.neighbours(number, [sender])[0] == receiver


def test_the_checksum_is_the_sum_of_the_checksums_of_the_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The checksum equals one that is computed with Python integers, even for huge values."""
    monkeypatch.setattr(artifacts, "_CACHED", 7)
    actual = graph_artifact(schedule("S4", "broadcast", "multiple", segments=3)).rows
    assert artifacts.checksum(actual.table) == sum(mixed(list(row)) for row in listed(actual))
    huge = np.arange(20) * 10**8
    table = np.stack([huge, huge + 5])
    assert artifacts.checksum(table) == sum(mixed([v, v + 5]) for v in huge.tolist())


def test_the_checksum_of_nodes_interprets_labels_as_numbers_in_base_37() -> None:
    """The digits 1..36 stand for the characters 0..9a..z."""
    network = topology("S4")
    expected = 0
    for rank, label in enumerate(network.labels().tolist()):
        code = 0
        for symbol in label:
            code = (code * 37 + artifacts.ALPHABET.index(symbol) + 1) % MODULUS
        expected += mixed([rank, rank, code])
    assert artifacts.node_checksum(network) == expected


Table = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def changed(change: Callable[[Table], Table]) -> tuple[int, int]:
    """Return the checksum of a forest's rows before and after a change of the table."""
    table = graph_artifact(forest("S4", "multiple")).rows.table
    return artifacts.checksum(table), artifacts.checksum(change(table.copy()))


@pytest.mark.parametrize("index", range(6), ids=["start", "end", *TREE_EDGE.columns])
def test_the_checksum_depends_on_every_column(index: int) -> None:
    """The checksum squares its terms, since a linear sum is unchanged if two rows swap values."""

    def exchange(table: Table) -> Table:
        column = table[index]
        # Swapping values between rows that differ only in this column would change nothing.
        anchor = table[0 if index == 1 else 1]
        other = int(np.flatnonzero((column != column[0]) & (anchor != anchor[0]))[0])
        column[[0, other]] = column[[other, 0]]
        return table

    def edit(table: Table) -> Table:
        table[index, 7] += 1
        return table

    for change in (exchange, edit):
        before, after = changed(change)
        assert before != after


def test_the_checksum_does_not_depend_on_the_order_of_the_rows() -> None:
    """Checksums of pages can be added, and the server may read rows in any order."""
    before, after = changed(lambda table: np.random.default_rng(1).permutation(table, axis=1))
    assert before == after


def test_a_topology_with_inconsistent_reverse_ports_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Topologies are verified before they are stored."""
    twisted = np.stack([np.roll(np.arange(24, dtype=np.int32), port) for port in (2, 3, 4)])
    monkeypatch.setattr(Star, "table", lambda _: twisted)
    with pytest.raises(RejectedError, match="does not lead back"):
        _ = graph_artifact(Star(4)).rows


@pytest.mark.parametrize(
    "wanted",
    [plan("S5,2"), plan("S5", "multiple"), plan("S5", "perfectly-balanced"), PLAN],
    ids=["links", "spanning trees", "partial trees", "sends"],
)
def test_blocks_are_small_and_together_have_all_rows(
    wanted: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts and checksums of the blocks add up to those of all rows."""
    artifact = wanted.artifacts[-1].build().graph
    joined_rows = artifact.rows
    monkeypatch.setattr(artifacts, "BLOCK", 50)
    blocks = list(artifact.blocks())
    assert len(blocks) > 1
    assert max(map(len, blocks)) <= 50
    assert artifacts.rows_content(blocks) == artifacts.rows_content([joined_rows])
    assert same_rows(artifact.rows, joined_rows)


def test_the_checksum_of_nodes_does_not_depend_on_the_block_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Labels are computed for one block of ranks at a time."""
    joined_rows = artifacts.node_checksum(topology("S5"))
    monkeypatch.setattr(artifacts, "BLOCK", 7)
    assert artifacts.node_checksum(topology("S5")) == joined_rows


def test_joining_an_empty_list_of_blocks_gives_no_rows() -> None:
    """An artifact can have no rows, and thus no blocks."""
    assert len(artifacts.join_blocks([], LINK, "S2", topology("S2"))) == 0


def nodes_of(part: Rows) -> set[int]:
    return set(np.concatenate([part.start, part.end]).tolist())


@pytest.mark.parametrize(("spec", "share"), [("S6", 0.8), ("S6,3", 0.8), ("Q8", 1.2)])
def test_batches_have_all_rows_sorted_by_start_node_and_touch_few_nodes(
    spec: str, share: float
) -> None:
    """Batches of a star graph touch fewer nodes than blocks of consecutive rows.

    In a hypercube, consecutive rows already touch few nodes, since a subcube has consecutive ranks.
    Batches may touch a few more nodes, since links between its two halves form separate batches.
    """
    links = graph_artifact(topology(spec)).rows
    size = len(links) // 6
    parts = list(chain.from_iterable(links.batches(size)))
    assert max(map(len, parts)) == size
    # One batch in each half of the nodes is smaller, and so are the batches between the halves.
    assert len(parts) <= 6 + 4
    touched = [len(nodes_of(part)) for part in parts]
    assert max(touched) < 0.75 * size
    assert all((np.diff(part.start) >= 0).all() for part in parts)
    together = artifacts.join_blocks(parts, LINK, spec, links.topology)
    assert same_rows(together, links.sorted())
    ends = np.column_stack([links.start, links.end])
    consecutive = sum(len(np.unique(ends[k : k + size])) for k in range(0, len(links), size))
    assert sum(touched) < share * consecutive


@pytest.mark.parametrize("spec", ["S5", "S5,3", "Q6"])
@pytest.mark.parametrize("size", [1, 7, 50])
def test_batches_that_are_written_at_the_same_time_have_no_node_in_common(
    spec: str, size: int
) -> None:
    """Transactions that lock the same nodes would block each other, or end in a deadlock."""
    links = graph_artifact(topology(spec)).rows
    pairs = [batches for batches in links.batches(size) if len(batches) > 1]
    assert 4 * sum(len(first) + len(second) for first, second in pairs) >= len(links)
    for first, second in pairs:
        assert nodes_of(first).isdisjoint(nodes_of(second))


def test_a_single_batch_keeps_the_order_of_the_rows() -> None:
    links = graph_artifact(topology("S4")).rows
    ((only,),) = links.batches(len(links))
    assert same_rows(only, links)
