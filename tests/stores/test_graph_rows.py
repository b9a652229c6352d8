"""Rows and checksums equal a direct computation, and checksums detect every kind of error."""

from collections.abc import Callable, Iterator
from itertools import chain

import numpy as np
import pytest

from starcast.collectives import schedule
from starcast.stores.graph import rows
from starcast.stores.graph.artifacts import graph_artifact
from starcast.stores.graph.rows import FACTOR, MODULUS, Rows
from starcast.stores.graph.schema import LINK, TREE_EDGE
from starcast.support.errors import RejectedError
from starcast.topologies import topology
from starcast.topologies.stars import Star
from starcast.trees import forest
from support.checks import same_rows


def mixed(values: list[int]) -> int:
    """Return the checksum of one row, computed with Python integers."""
    h = 1
    for value in [*values, 0, 0]:
        h = (h * h + FACTOR * (value % MODULUS) + 1) % MODULUS
    return h


@pytest.mark.parametrize("spec", ["S2", "S3", "S4", "S5"])
def test_links_of_a_star_graph_follow_its_definition(spec: str) -> None:
    """Nodes that differ by a swap with the first symbol are linked, each pair once."""
    network = topology(spec)
    labels = network.labels().tolist()
    expected = set()
    for rank, label in enumerate(labels):
        for port in network.ports:
            other = labels.index(label[port - 1] + label[1 : port - 1] + label[0] + label[port:])
            expected.add((min(rank, other), max(rank, other), port))
    actual = graph_artifact(network).rows
    listed = list(
        zip(
            actual.start.tolist(), actual.end.tolist(), actual.columns["port"].tolist(), strict=True
        )
    )
    assert len(listed) == network.links
    assert set(listed) == expected
    assert listed == sorted(listed)


@pytest.mark.parametrize("spec", ["S2,1", "S4,1", "S4,2", "S5,2", "S5,3", "S4,3", "Q1", "Q4"])
def test_links_of_other_families_have_the_port_of_the_lower_rank(spec: str) -> None:
    """Only this port is stored, although the ports at the two ends of a residual link differ."""
    network = topology(spec)
    across = {port: network.neighbours(port).tolist() for port in network.ports}
    expected = [
        (a, b, port)
        for a in range(network.nodes)
        for port in network.ports
        if (b := across[port][a]) > a
    ]
    actual = graph_artifact(network).rows
    listed = list(
        zip(
            actual.start.tolist(), actual.end.tolist(), actual.columns["port"].tolist(), strict=True
        )
    )
    assert len(listed) == len({(a, b) for a, b, _ in listed}) == network.links
    assert listed == sorted(expected)


@pytest.mark.parametrize(
    ("spec", "construction", "root"),
    [
        *[("S4", name, "3142") for name in ("greedy", "multiple", "recursive-substar")],
        *[("S5,3", name, "425") for name in ("nk-greedy", "nk-multiple")],
        *[("Q4", name, "0110") for name in ("binomial", "edge-disjoint-binomial")],
    ],
)
def test_tree_edges_lead_from_parents_to_children(spec: str, construction: str, root: str) -> None:
    """Parent, child, tree, level and parent's port agree with the forest's array."""
    built_forest = forest(spec, construction, root)
    topology, parents, levels = built_forest.topology, built_forest.parents(), built_forest.levels()
    expected = sorted(
        (
            int(parents[tree, node]),
            node,
            tree,
            int(levels[tree, node]),
            topology.reverse_port(int(built_forest.parent_port[tree, node])),
        )
        for tree in range(built_forest.trees)
        for node in range(topology.nodes)
        if node != built_forest.root
    )
    actual = graph_artifact(built_forest).rows
    assert (
        sorted(
            zip(
                actual.start.tolist(),
                actual.end.tolist(),
                *(c.tolist() for c in actual.columns.values()),
                strict=True,
            )
        )
        == expected
    )
    for parent, child, _, _, port in expected:
        assert topology.neighbours(port, [parent])[0] == child


def test_the_checksum_is_the_sum_of_the_checksums_of_the_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """NumPy arrays give the same sum as Python integers row by row, also for huge values."""
    monkeypatch.setattr(rows, "_CACHED", 7)
    actual = graph_artifact(schedule("S4", "broadcast", "multiple", segments=3)).rows
    listed = zip(
        actual.start.tolist(),
        actual.end.tolist(),
        *(c.tolist() for c in actual.columns.values()),
        strict=True,
    )
    assert actual.checksum() == sum(mixed(list(row)) for row in listed)
    huge = np.arange(20) * 10**8
    assert rows.checksum([huge, huge + 5], 20) == sum(mixed([v, v + 5]) for v in huge.tolist())


def test_labels_enter_the_checksum_of_nodes_as_numbers_in_base_37() -> None:
    """The digits 1..36 stand for the characters 0..9a..z."""
    network = topology("S4")
    expected = 0
    for rank, label in enumerate(network.labels().tolist()):
        code = 0
        for symbol in label:
            code = (code * 37 + rows.ALPHABET.index(symbol) + 1) % MODULUS
        expected += mixed([rank, rank, code])
    assert rows.node_checksum(network) == expected


def changed(
    change: Callable[[dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]], None],
) -> tuple[int, int]:
    """Return the checksum of a forest's rows before and after a change of the columns."""
    before = graph_artifact(forest("S4", "multiple")).rows
    columns = {"start": before.start.copy(), "end": before.end.copy()} | {
        n: c.copy() for n, c in before.columns.items()
    }
    change(columns)
    start, end = columns.pop("start"), columns.pop("end")
    return before.checksum(), Rows(
        TREE_EDGE, before.artifact_id, before.topology, start, end, columns
    ).checksum()


@pytest.mark.parametrize("name", ["start", "end", "tree", "level", "port"])
def test_swapping_two_values_of_a_column_changes_the_checksum(name: str) -> None:
    """The checksum squares its terms, since a linear sum would not change."""

    def exchange(columns: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]) -> None:
        column = columns[name]
        # Swapping values between rows that differ only in this column would change nothing.
        anchor = columns["start" if name == "end" else "end"]
        other = int(np.flatnonzero((column != column[0]) & (anchor != anchor[0]))[0])
        column[[0, other]] = column[[other, 0]]

    before, after = changed(exchange)
    assert before != after


@pytest.mark.parametrize("name", ["start", "end", "tree", "level", "port"])
def test_a_changed_value_changes_the_checksum(name: str) -> None:
    """The change can be in any column of any row."""

    def edit(columns: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]) -> None:
        columns[name][7] += 1

    before, after = changed(edit)
    assert before != after


def test_the_checksum_does_not_depend_on_the_order() -> None:
    """Checksums of pages can be added, and the server may read rows in any order."""

    def shuffle(columns: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]) -> None:
        order = np.random.default_rng(1).permutation(len(columns["start"]))
        for name in columns:
            columns[name] = columns[name][order]

    before, after = changed(shuffle)
    assert before == after


def test_columns_that_do_not_fit_the_type_are_refused() -> None:
    """Names and lengths are checked when rows are created."""
    network, few = topology("S3"), np.zeros(2, dtype=np.int64)
    with pytest.raises(ValueError, match="needs the columns"):
        Rows(LINK, "S3", network, few, few, {"level": few})
    with pytest.raises(ValueError, match="differ in length"):
        Rows(LINK, "S3", network, few, few, {"port": few[:1]})


def test_a_topology_with_inconsistent_reverse_ports_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Topologies are verified before they are stored."""

    def twisted(self: Star) -> object:
        return np.stack(
            [np.roll(np.arange(self.nodes, dtype=np.int32), port) for port in self.ports]
        )

    monkeypatch.setattr(Star, "table", twisted)
    with pytest.raises(RejectedError, match="does not lead back"):
        _ = graph_artifact(Star(4)).rows


BLOCKS: dict[str, Callable[[], tuple[rows.Content, Rows, list[Rows]]]] = {
    "links": lambda: _blocks(
        rows.link_blocks(topology("S5,2")), graph_artifact(topology("S5,2")).rows
    ),
    "spanning trees": lambda: _blocks(
        rows.tree_blocks(forest("S5", "multiple")), graph_artifact(forest("S5", "multiple")).rows
    ),
    "partial trees": lambda: _blocks(
        rows.tree_blocks(forest("S5", "perfectly-balanced")),
        graph_artifact(forest("S5", "perfectly-balanced")).rows,
    ),
    "sends": lambda: _blocks(
        rows.send_blocks(schedule("S4", "broadcast", "multiple")),
        graph_artifact(schedule("S4", "broadcast", "multiple")).rows,
    ),
}


def _blocks(blocks: Iterator[Rows], joined_rows: Rows) -> tuple[rows.Content, Rows, list[Rows]]:
    return rows.rows_content(joined_rows), joined_rows, list(blocks)


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_are_small_and_together_have_all_rows(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts and checksums of the blocks add up to those of all rows."""
    monkeypatch.setattr(rows, "BLOCK", 50)
    content, joined_rows, blocks = BLOCKS[name]()
    assert len(blocks) > 1
    assert max(map(len, blocks)) <= 50
    assert rows.rows_content(blocks) == content
    assert same_rows(
        rows.join_blocks(
            blocks, joined_rows.relationship, joined_rows.artifact_id, joined_rows.topology
        ),
        joined_rows,
    )


def test_the_checksum_of_nodes_does_not_depend_on_the_block_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Labels are computed for one block of ranks at a time."""
    joined_rows = rows.node_checksum(topology("S5"))
    monkeypatch.setattr(rows, "BLOCK", 7)
    assert rows.node_checksum(topology("S5")) == joined_rows


def test_joining_no_blocks_gives_no_rows() -> None:
    """The result has all columns, but no rows."""
    assert len(rows.join_blocks([], LINK, "S2", topology("S2"))) == 0


def number_of_nodes(part: Rows) -> int:
    return len(np.unique(np.concatenate([part.start, part.end])))


@pytest.mark.parametrize(("spec", "share"), [("S6", 0.8), ("S6,3", 0.8), ("Q8", 1.2)])
def test_batches_have_all_rows_sorted_by_start_node_and_touch_few_nodes(
    spec: str, share: float
) -> None:
    """Batches of a star graph touch fewer nodes than blocks of consecutive rows.

    In a hypercube, consecutive rows touch few nodes already, since ranks are in the order of
    subcubes. Its batches may touch a few more, because of the rows between the halves.
    """
    links = graph_artifact(topology(spec)).rows
    size = len(links) // 6
    parts = list(chain.from_iterable(links.batches(size)))
    assert max(map(len, parts)) == size
    # At most three batches are smaller: one in each half of the nodes, and one between the halves.
    assert len(parts) <= 6 + 3
    assert all((np.diff(part.start) >= 0).all() for part in parts)
    together = rows.join_blocks(parts, LINK, spec, links.topology)
    assert same_rows(together, links.sorted())
    ends = np.column_stack([links.start, links.end])
    consecutive = sum(len(np.unique(ends[k : k + size])) for k in range(0, len(links), size))
    assert sum(map(number_of_nodes, parts)) < share * consecutive


@pytest.mark.parametrize("spec", ["S5", "S5,3", "Q6"])
@pytest.mark.parametrize("size", [1, 7, 50])
def test_batches_that_are_written_at_the_same_time_have_no_node_in_common(
    spec: str, size: int
) -> None:
    """Transactions that lock the same nodes would wait for each other, or for ever."""
    links = graph_artifact(topology(spec)).rows
    pairs = [batches for batches in links.batches(size) if len(batches) > 1]
    assert 4 * sum(len(first) + len(second) for first, second in pairs) >= len(links)
    for first, second in pairs:
        assert number_of_nodes(rows.join_blocks([first, second], LINK, spec, links.topology)) == (
            number_of_nodes(first) + number_of_nodes(second)
        )


def test_a_single_batch_keeps_the_order_of_the_rows() -> None:
    links = graph_artifact(topology("S4")).rows
    ((only,),) = links.batches(len(links))
    assert same_rows(only, links)
