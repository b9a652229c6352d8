"""Verification of forests by blocks of nodes, compared with arrays, oracles and checkers."""

import json
import random
import shutil
from dataclasses import replace
from itertools import pairwise
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from oracles import edge_disjoint, star_graph, tseng_sheu
from starcast.judges.blockwise import (
    BlockVerification,
    Source,
    closed_form,
    combine,
    judge,
    plan_ranges,
    verify_blocks,
)
from starcast.judges.blockwise.formulas import build_tables
from starcast.judges.blockwise.verification import Description, RangeResult, examine_range
from starcast.records import checkers
from starcast.support import shards
from starcast.support.errors import InputError, LimitError, RejectedError
from starcast.support.parallel import local_processes
from starcast.topologies import permutations, topology
from starcast.trees import forest
from support.shards import seal

BASES = ("greedy", "multiple", "recursive-substar", "edge-disjoint")
#: Forests, given by topology, construction, arguments and root, each with a number m. The nodes of
#: a block differ only in the order of m symbols. If m = n, one block contains all nodes.
FORESTS = [
    *(("S3", base, {}, None, 3) for base in BASES),
    *(("S5", base, {}, "35142", m) for base in BASES for m in (3, 5)),
    *(("S6", base, {}, None, 4) for base in BASES),
    *(("S7", base, {}, "7654321", 6) for base in BASES),
    *(("S6", "label-change", {"base": base}, "416253", 4) for base in BASES),
    *(("S6", "dimension-change", {"base": base, "i": 3}, "416253", 4) for base in BASES),
]


def arrays_of(source: Source) -> NDArray[np.uint8]:
    """Return the parent ports in all blocks of a forest as one array, uint8 ``[trees, nodes]``."""
    ports = np.zeros((source.trees, factorial(source.n)), dtype=np.uint8)
    image = np.array([source.image_port(port) for port in range(source.n + 1)], dtype=np.uint8)
    for block in range(source.count):
        nodes, found, _ = judge.read_block(source.blocks, build_tables(source.blocks.m), block)
        ports[:, permutations.rank(source.image(nodes))] = image[found]
    return ports


@pytest.mark.parametrize(
    ("spec", "construction", "arguments", "root", "m"),
    [
        pytest.param(*each, marks=pytest.mark.slow if each[0] in {"S6", "S7"} else ())
        for each in FORESTS
    ],
)
def test_verification_by_blocks_finds_the_ports_heights_and_loads_of_the_forest(
    spec: str, construction: str, arguments: dict[str, int | str], root: str | None, m: int
) -> None:
    source = closed_form(spec, construction, root, m=m, **arguments)
    built = forest(spec, construction, root or 0, **arguments)
    assert source.id == built.id
    np.testing.assert_array_equal(arrays_of(source), built.parent_port)
    found = verify_blocks(source, jobs=1)
    assert found.edges == built.trees * (built.topology.nodes - 1)
    assert found.heights == tuple(built.heights.tolist())
    assert found.load_histogram == built.load_histogram()
    assert found.congestion == built.congestion


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["S8", "S9", "S10"])
@pytest.mark.parametrize("base", BASES)
def test_blocks_of_large_stars_have_the_parent_ports_of_the_forest(spec: str, base: str) -> None:
    """All blocks of S8 are compared, and 40 blocks of each larger star graph."""
    if (spec, base) == ("S10", "edge-disjoint"):
        spec = "S9"  # building the array of S10 takes ten seconds
    source, built = closed_form(spec, base), forest(spec, base)
    every = range(source.count)
    blocks = every if len(every) < 40 else random.Random(spec).sample(every, 40)  # noqa: S311
    for block in blocks:
        nodes, ports, _ = judge.read_block(source.blocks, build_tables(7), block)
        expected = built.parent_port[:, permutations.rank(nodes)]
        np.testing.assert_array_equal(ports, expected, err_msg=f"block {block}")


@pytest.mark.parametrize("base", ["recursive-substar", "edge-disjoint"])
def test_the_potentials_of_nodes_are_their_levels_in_the_tree(base: str) -> None:
    """A potential is a number that decreases by 1 from each node to its parent."""
    source = closed_form("S6", base, m=4)
    levels = forest("S6", base).levels()
    for block in range(source.count):
        nodes, _, potentials = judge.read_block(source.blocks, build_tables(4), block)
        np.testing.assert_array_equal(potentials, levels[:, permutations.rank(nodes)])


def with_port(source: Source, block: int, tree: int, index: int, port: int) -> Source:
    """Return a copy of the closed form of a forest, with the parent port of one node changed."""
    changes = np.vstack([source.blocks.changes, [block, tree, index, port]])
    order = np.lexsort(changes.T[::-1])
    return replace(source, blocks=source.blocks._replace(changes=changes[order]))


def verified_or_error(source: Source) -> BlockVerification | RejectedError:
    """Return the verification of a forest, or the error that rejects it."""
    try:
        return verify_blocks(source, jobs=1)
    except RejectedError as error:
        return error


#: Constructions of several trees. Their verification by blocks is slow unless it is compiled.
COMPILED = {"multiple", "edge-disjoint"}


@pytest.mark.parametrize(
    "base",
    [pytest.param(base, marks=pytest.mark.slow if base in COMPILED else ()) for base in BASES],
)
def test_a_wrong_port_is_reported_unless_the_changed_tree_still_spans_all_nodes(base: str) -> None:
    """If the tree spans all nodes, verification by blocks gives the same results as the checkers.

    The heights of the trees and the loads of the links are compared.
    """
    source = closed_form("S6", base, m=4, root="654321")
    draw = random.Random(base)  # noqa: S311 - repeatable, not secret
    named = accepted = 0
    for _ in range(40):
        place = (
            draw.randrange(source.count),
            draw.randrange(source.trees),
            draw.randrange(factorial(4)),
        )
        if place in source.exceptions:
            continue
        nodes, ports, _ = judge.read_block(source.blocks, build_tables(4), place[0])
        right = int(ports[place[1], place[2]])
        wrong = draw.choice([port for port in range(8) if port != right])
        mutated = with_port(source, *place, wrong)
        found = verified_or_error(mutated)
        if isinstance(found, RejectedError):
            label = permutations.labels(source.image(nodes[place[2]][None, :]))[0]
            assert f"tree {place[1]}, node {label} " in found.message
            named += 1
            continue
        array = arrays_of(mutated)
        network = topology("S6")
        root = network.rank("654321")
        assert checkers.spanning(network, array, root).holds
        assert found.heights == checkers.height(network, array, root, 99).measured
        load = np.bincount(checkers.loads(network, array, root).ravel()).tolist()
        assert found.load_histogram == {trees: links for trees, links in enumerate(load) if links}
        accepted += 1
    assert named > 20
    assert named > 2 * accepted


@pytest.mark.parametrize("port", [0, 7, 255])
def test_a_wrong_port_on_the_path_between_root_and_hub_is_detected(port: int) -> None:
    """On this path, the potentials of the nodes need not decrease towards the root.

    The verification therefore follows the path node by node.
    """
    source = closed_form("S6", "multiple", m=4)
    path = [place for place in source.exceptions if place[1] == 2]
    assert len(path) > 4
    for block, tree, index in path:
        changes = source.blocks.changes.copy()
        is_place = (changes[:, :3] == (block, tree, index)).all(axis=1)
        if changes[is_place, 3] == port:  # port 0 is correct for the root
            continue
        changes[is_place, 3] = port
        mutated = replace(source, blocks=source.blocks._replace(changes=changes))
        with pytest.raises(RejectedError, match="S6:multiple:123456 is not a forest: tree 2, node"):
            verify_blocks(mutated, jobs=1)


@pytest.mark.slow
def test_parent_ports_match_the_papers_for_ranks_above_32_bits() -> None:
    """Ranks in the last blocks of S13 exceed 2^32. The test checks two of these blocks."""
    draw = random.Random(13)  # noqa: S311 - repeatable, not secret
    multiple, edges = closed_form("S13", "multiple"), closed_form("S13", "edge-disjoint")
    hubs = [star_graph.shift(star_graph.identity(13), i) for i in range(1, 13)]
    for block in (multiple.count - 1, multiple.count - 77_777):
        assert block * factorial(7) > 2**32
        nodes, ports, _ = judge.read_block(multiple.blocks, build_tables(7), block)
        _, others, _ = judge.read_block(edges.blocks, build_tables(7), block)
        for index in draw.sample(range(factorial(7)), 30):
            node = tuple(nodes[index].tolist())
            assert ports[:, index].tolist() == [tseng_sheu.alpha(node, hub) for hub in hubs]
            parents = [edge_disjoint.edt_parent(node, tree) for tree in range(2, 14)]
            moved = [star_graph.swap(node, port) for port in others[:, index].tolist()]
            assert moved == parents


@pytest.mark.slow
def test_a_range_of_three_blocks_of_s13_can_be_verified() -> None:
    source = closed_form("S13", "multiple")
    found = examine_range(source, (source.count - 3, source.count))
    assert sum(found.load) == 3 * factorial(7) * 12
    assert found.exceptions == ()
    assert max(found.largest) <= 18


def test_verification_by_blocks_in_ranges_or_processes_gives_the_same_result_as_one_run() -> None:
    source = closed_form("S7", "multiple", m=5)
    undivided = verify_blocks(source, jobs=1)
    parts = [examine_range(source, (start, start + 6)) for start in range(0, 42, 6)]
    assert combine(source, reversed(parts)) == undivided
    with local_processes(2) as executor:
        assert verify_blocks(source, executor=executor) == undivided
    with pytest.raises(RejectedError, match="do not cover each of the 42 blocks"):
        combine(source, parts[1:])
    with pytest.raises(RejectedError, match="do not cover each of the 42 blocks"):
        combine(source, [*parts, parts[0]])


def test_the_planned_ranges_cover_every_block_of_s16_exactly_once() -> None:
    source = closed_form("S16", "multiple")
    ranges = plan_ranges(source)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == source.count == factorial(16) // factorial(7)
    assert all(stop == start for (_, stop), (start, _) in pairwise(ranges))


@pytest.mark.parametrize(
    ("spec", "construction", "arguments", "message"),
    [
        ("Q4", "binomial", {}, "'Q4' cannot be verified block by block: it is not a star graph"),
        ("S2", "greedy", {}, "S2 is too small to be verified block by block"),
        ("S17", "greedy", {}, "S17 is too large to be verified block by block"),
        ("S9", "necklace", {}, "'necklace' cannot be verified block by block"),
        ("S9", "no-such", {}, "no-such"),
        ("S9", "greedy", {"i": 1}, "'greedy' cannot be verified block by block with the"),
        ("S9", "label-change", {}, "takes exactly these arguments: base"),
        ("S9", "label-change", {"base": "balanced"}, "'balanced' cannot be verified block by"),
        ("S9", "dimension-change", {"base": "greedy", "i": 8}, "i is 8, which is out of range"),
    ],
)
def test_forests_that_cannot_be_verified_by_blocks_are_refused(
    spec: str, construction: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises((InputError, LimitError), match=message):
        closed_form(spec, construction, **arguments)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Write a verification as three shards and return their files."""
    folder = tmp_path_factory.mktemp("shards")
    source = closed_form("S6", "multiple", m=4)
    ranges = [(start, start + 5) for start in range(0, 30, 5)]
    job = shards.Job("forest", {"id": source.id}, len(ranges))
    files = []
    for index in (1, 2, 3):
        shard = shards.Shard(index, 3)
        results = {
            number: examine_range(source, blocks).model_dump()
            for number, blocks in shard.select(ranges)
        }
        files.append(folder / f"part-{index}.json{'.gz' if index == 3 else ''}")
        shards.write_shard(files[-1], job, shard, results)
    return files


def merged(
    files: list[Path], kind: shards.ShardKind = "forest"
) -> tuple[Description, list[RangeResult]]:
    return shards.merge_shards(files, kind, Description, RangeResult)


def test_merging_the_shards_of_a_verification_gives_the_results_of_all_tasks(
    written: list[Path],
) -> None:
    source = closed_form("S6", "multiple", m=4)
    job, results = merged([written[2], *written[:2]])
    assert (len(results), job.id) == (6, source.id)
    found = combine(source, results)
    assert found == verify_blocks(source, jobs=1)


def refusal(files: list[Path], kind: shards.ShardKind = "forest") -> str:
    """Return the error message of a merge of these shards."""
    with pytest.raises((InputError, RejectedError)) as caught:
        merged(files, kind)
    return caught.value.message


def rewritten(file: Path, target: Path, **values: object) -> Path:
    """Copy a shard with changed values and a correct checksum; return the path of the copy."""
    content = json.loads(file.read_text(encoding="utf-8")) | values
    content.pop("sha256")
    target.write_bytes(seal(content))
    return target


def test_shards_that_do_not_belong_together_are_refused(
    written: list[Path], tmp_path: Path
) -> None:
    first, second, third = written
    assert refusal([]) == "no shard is given"
    assert refusal([first, third]) == "1 shard is missing: 2/3"
    assert "overlap: both are shard 1/3" in refusal([first, second, first, third])
    assert "is a shard of a verification of a forest, not of an experiment" in refusal(
        written, "experiment"
    )
    other = rewritten(second, tmp_path / "a", job={"id": "another"})
    assert "are shards of different jobs" in refusal([first, other, third])
    other = rewritten(second, tmp_path / "b", shard="2/4")
    assert refusal([first, other, third]) == (
        "the files do not belong together: the job was divided into 3 and 4 shards"
    )
    other = rewritten(second, tmp_path / "c", version="0.0.9")
    assert "was computed by starcast 0.0.9, not by the installed" in refusal([first, other, third])
    other = rewritten(second, tmp_path / "d", sources="0")
    assert "was computed by other code" in refusal([first, other, third])
    other = rewritten(second, tmp_path / "e", results={})
    assert "no file contains the result of task 1" in refusal([first, other, third])
    results = json.loads(first.read_text(encoding="utf-8"))["results"]
    other = rewritten(second, tmp_path / "f", results=results)
    assert "unexpected result of task 0" in refusal([first, other, third])


def test_damaged_shards_are_refused(written: list[Path], tmp_path: Path) -> None:
    first, second, third = written
    for number, (damaged, message) in enumerate(
        (
            (second.read_bytes()[:-40], "is incomplete, or not a shard file"),
            (second.read_bytes().replace(b'"load":[', b'"load":[9,', 1), "its checksum is wrong"),
            (third.read_bytes()[:-40], "is incomplete"),
            (b"[]", "is not a shard file"),
        )
    ):
        file = tmp_path / str(number)
        file.write_bytes(damaged)
        assert message in refusal([first, file, third])
    shutil.rmtree(tmp_path)
    assert "cannot be read: No such file" in refusal([first, tmp_path / "gone", third])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0/3", "'0/3' is not a shard"),
        ("4/3", "the shard 4/3 is out of range"),
        ("1", "'1' is not a shard"),
        ("a/b", "'a/b' is not a shard"),
    ],
)
def test_an_invalid_shard_number_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        shards.Shard.parse(text)
