"""Tseng & Sheu 1997, sections 4 to 6: Algorithms 1 and 2, and label and dimension changes."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import diameter, factorial
from starcast.claims.papers.tseng_sheu.closed_forms import QUOTIENTS, algorithm2
from starcast.claims.reference import bfs, tree_transforms
from starcast.claims.reference.pipelines import carried_share
from starcast.claims.reference.tree_transforms import Row, Tree
from starcast.claims.registry import Execution, Memory, all_pairs, checks, execute, executions
from starcast.collectives.model import BYTES_PER_ROW, Schedule
from starcast.judges.simulator import Simulation
from starcast.records import checkers
from starcast.trees.model import Forest

SEGMENTS = (1, 2, 3, 5)
#: Values of T_s, T_c and m, in ascending order.
TIMES = tuple(product((0, 1, 3), (0, 1, 2), (1, 2, 6)))
_ALL_SOURCES = 6  # Algorithm 2 is executed for all sources up to S_6
#: Memory of Algorithm 2 for one source.
ONE_SOURCE = Memory(BYTES_PER_ROW)
#: Memory of the images of all nodes under all translations.
TRANSLATIONS = Memory(16, power=0, of_pairs=all_pairs)


@checks("TS.A1", memory=Memory(BYTES_PER_ROW * max(SEGMENTS)))
def nothing_waits_in_algorithm1(check: ClaimCheck) -> None:
    """Check that the last slot is h+p-1, no segment waits, and packets have 1 or 2 segments."""
    for root in bfs.roots(check, 2)[:6]:
        h = max(bfs.heights(check.forest("multiple", root=root)))
        for p in SEGMENTS:
            schedule, simulation = execute(check, "broadcast", "multiple", root=root, segments=p)
            check.equal("number of the last slot", simulation.steps, h + p - 1, p=p, of=schedule)
            check.equal("segments", schedule.units, p * (check.n - 1), p=p, of=schedule)
            place = {"p": p, **place_of_rows(schedule)}
            check.equal("slots that a segment waits", waiting_slots(schedule, p), 0, **place)
            sizes = packet_sizes(schedule)
            check.true("no more than two segments in a packet", sizes <= 2, **place, found=sizes)


def place_of_rows(schedule: Schedule) -> dict[str, Any]:
    """Return the steps and links of a schedule's rows, as keywords for methods of `ClaimCheck`."""
    link = (schedule.sender, schedule.receiver)
    return {"step": schedule.step, "link": link, "of": schedule}


def waiting_slots(schedule: Schedule, p: int) -> NDArray[np.int64]:
    """Return the number of slots that each row's segment waits at its sender."""
    arrival = np.zeros((schedule.topology.nodes, schedule.units), dtype=np.int64)
    arrival[schedule.receiver, schedule.unit] = schedule.step
    # At the root, segment j (counted from 0) of every tree can leave in slot j + 1.
    arrival[schedule.root] = np.arange(schedule.units) % p
    return np.asarray(schedule.step - arrival[schedule.sender, schedule.unit] - 1)


def link_slots(schedule: Schedule, slots: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each row a number that identifies its slot and directed link."""
    # Ports are below 256 (uint8), so slot, sender and port fit into one number.
    sender_slots = slots.astype(np.int64) * schedule.topology.nodes + schedule.sender
    return np.asarray(sender_slots * 256 + schedule.port)


def packet_sizes(schedule: Schedule) -> NDArray[np.int64]:
    """Return for each row the number of rows with the same step and directed link."""
    keys = link_slots(schedule, schedule.step)
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse])


@checks("TS.T2.simulation", memory=Memory(BYTES_PER_ROW * max(SEGMENTS)))
def one_port_simulation(check: ClaimCheck) -> None:
    """Check that one-port sub-slots, one per dimension, send the segments of the all-port slots."""
    for port, heads in zip(check.ports, check.neighbours, strict=True):
        check.equal(f"back over dimension {port}", heads[heads], check.ranks, node=check.ranks)
    for broadcast in executions("broadcast", "multiple", ports="one", segments=SEGMENTS[:3])(check):
        schedule = broadcast.schedule
        p = broadcast.argument("segments")
        place = {"p": p, **place_of_rows(schedule)}
        what = "packets of a node in a sub-slot"
        check.equal(what, partners(schedule, schedule.sender, schedule.receiver), 1, **place)
        check.equal(what, partners(schedule, schedule.receiver, schedule.sender), 1, **place)
        slot, turn = np.divmod(schedule.step - 1, check.n - 1)
        check.equal("dimension of a sub-slot", schedule.port, turn + 2, **place)
        all_port = check.schedule("broadcast", "multiple", segments=p)
        stated = sent_units(all_port, all_port.step)
        observed = sent_units(schedule, slot + 1)
        check.equal("segments over links", len(observed), len(stated), p=p, of=schedule)
        missing = len(np.setdiff1d(stated, observed))
        check.equal("what is sent in a slot and not in its sub-slots", missing, 0, p=p, of=schedule)


def partners(
    schedule: Schedule, ends: NDArray[np.int32], other_ends: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return, for each row, the number of partners that one end of the row's link has in its step.

    The nodes in ``ends`` are this end, and ``other_ends`` the partners: ranks, one per row.
    """
    nodes = schedule.topology.nodes
    end_steps = schedule.step.astype(np.int64) * nodes + ends
    pairs = np.unique(end_steps * nodes + other_ends)
    distinct, counts = np.unique(pairs // nodes, return_counts=True)
    return np.asarray(counts[np.searchsorted(distinct, end_steps)])


def sent_units(schedule: Schedule, slots: NDArray[Any]) -> NDArray[np.int64]:
    """Return sorted numbers that identify the slot, directed link and unit of each row."""
    return np.sort(link_slots(schedule, slots) * schedule.units + schedule.unit)


@checks(
    "TS.A2",
    given=algorithm2(),
    memory=Memory(BYTES_PER_ROW, of_pairs=lambda topology: topology.n <= _ALL_SOURCES),
)
def algorithm2_delivers_everything(check: ClaimCheck, allgather: Execution) -> None:
    """Check the number of the last step, the packets, and the segments over every link."""
    n = check.n
    schedule = allgather.schedule
    check.equal("number of the last step", allgather.steps, diameter(n), of=schedule)
    carried = carried_share(allgather.simulation, n - 1)
    stated = Fraction(factorial(n) - 1, n - 1)
    check.equal("messages in the packets, one a step", carried, stated, of=schedule)
    if n <= _ALL_SOURCES:
        expanded = all_sources(check, schedule)
        check.execute(expanded)
        loads = np.zeros((check.nodes, n - 1), dtype=np.int64)
        np.add.at(loads, (expanded.sender, expanded.port.astype(np.int64) - 2), 1)
        stated = factorial(n) - 1
        check.equal("segments over a link", loads, stated, link=check.links, of=expanded)


def all_sources(check: ClaimCheck, schedule: Schedule) -> Schedule:
    """Return the rows of Algorithm 2 for all sources."""
    return check.build(schedule.expand, "Algorithm 2 for all sources")


def check_allgather_time(
    check: ClaimCheck, schedule: Schedule, simulation: Simulation, height: int, slots: int = 1
) -> None:
    """Check that an allgather takes c h T_s + c m (n!-1)/(n-1) T_c.

    h is the height of the tree, and c the number of sub-slots per slot.
    """
    # In this time, steps in which nothing is sent take no time.
    busy = simulation.packet_sizes[simulation.links_used > 0]
    for startup, per_byte, m in TIMES:
        share = Fraction(m * (factorial(check.n) - 1), check.n - 1)
        carried = Fraction(int(busy.sum()) * m, check.n - 1)
        measured = len(busy) * startup + carried * per_byte
        stated = slots * (height * startup + share * per_byte)
        check.equal("time", measured, stated, T_s=startup, T_c=per_byte, m=m, of=schedule)


@checks("TS.T3.time", given=algorithm2(), memory=ONE_SOURCE)
def time_of_theorem3(check: ClaimCheck, allgather: Execution) -> None:
    """Check the time of Algorithm 2 on L(I), the greedy tree at the identity."""
    check_allgather_time(check, allgather.schedule, allgather.simulation, diameter(check.n))


@checks("TS.T3.any-tree", memory=ONE_SOURCE)
def time_on_any_tree(check: ClaimCheck) -> None:
    """Check the time of Algorithm 2 on many trees, one of them of minimum height but not greedy."""
    trees = tree_transforms.sample_trees(check)
    detour = tree_transforms.tree_with_detour(check)
    what = "trees of height D_n that are not greedy are looked at"
    check.equal(what, detour is not None, check.n > 4)
    if detour is not None:
        check_detour(check, detour)
        trees.append(detour)
    for tree in trees:
        forest = Forest(check.topology, tree.row[None])
        check.passes(checkers.spanning, forest, of=tree.name)
        (height,) = bfs.heights(forest)
        schedule = tree_transforms.allgather_schedule(check, tree)
        check_allgather_time(check, schedule, check.execute(schedule), height)
        if tree.in_catalogue:
            for run in algorithm2(base=tree.name)(check):
                check_allgather_time(check, run.schedule, run.simulation, height)


def check_detour(check: ClaimCheck, tree: Tree) -> None:
    """Check that a tree is as high as the diameter but not a shortest-path tree."""
    levels = bfs.levels(bfs.parents(check, tree.row), 0)
    what = "height of a tree that is not greedy"
    check.equal(what, levels.max(), diameter(check.n), of=tree.name)
    is_longer = (levels > bfs.distances(check)).any()
    check.true("some node is further than its distance", is_longer, of=tree.name)


@checks("TS.S52", given=algorithm2("one"), memory=ONE_SOURCE)
def one_port_allgather(check: ClaimCheck, allgather: Execution) -> None:
    """Check the sub-slots, their dimensions, and the time of the one-port Algorithm 2."""
    n = check.n
    schedule = allgather.schedule
    check.equal("sub-slots", allgather.steps, (n - 1) * diameter(n), of=schedule)
    turn = (schedule.step - 1) % (n - 1)
    check.equal("dimension of a sub-slot", schedule.port, turn + 2, **place_of_rows(schedule))
    check_allgather_time(check, schedule, allgather.simulation, diameter(n), slots=n - 1)


@checks("TS.S62-trees", given=algorithm2(), memory=Memory(BYTES_PER_ROW, of_pairs=all_pairs))
def number_of_trees(check: ClaimCheck, allgather: Execution) -> None:
    """Check that Algorithm 2 uses n-1 different trees per source, and (n-1) n! in total."""
    n = check.n
    expanded = all_sources(check, allgather.schedule)
    source = expanded.unit.astype(np.int64) // (n - 1)
    ports = np.zeros((check.nodes, n - 1, check.nodes), dtype=np.uint8)
    # A tree is identified by an array with the port over which each node receives, as in a forest.
    ports[source, expanded.tree, expanded.receiver] = expanded.port
    total = count_distinct(ports.reshape(-1, check.nodes))
    check.equal("different trees", total, (n - 1) * factorial(n), of=expanded)
    per_source = [count_distinct(trees) for trees in ports]
    check.equal("different trees of a source", per_source, n - 1, node=check.ranks, of=expanded)
    links = np.count_nonzero(ports, axis=2)
    sources = check.ranks[:, None]
    check.equal("links of a tree", links, factorial(n) - 1, node=sources, of=expanded)


def count_distinct(trees: NDArray[np.uint8]) -> int:
    """Return the number of different rows that are not empty."""
    return len(np.unique(trees[trees.any(axis=1)], axis=0))


# Label and dimension changes, and the use of links (sections 5 and 6.2)


def check_spanning(check: ClaimCheck, tree: Tree, root: int) -> None:
    """Check that a changed tree is a spanning tree with the stated root."""
    forest = Forest(check.topology, tree.row[None], root)
    check.passes(checkers.spanning, forest, of=tree.name)


def check_ports(check: ClaimCheck, what: str, forest: Forest, expected: Tree) -> None:
    """Check the ports of a forest of the catalogue against a changed tree."""
    check.equal(what, forest.parent_port, expected.row, node=check.ranks, of=forest)


@checks("TS.D3")
def label_changes_span(check: ClaimCheck) -> None:
    """Check that label changes LC(x,T) span and match the catalogue and the paper's example."""
    for tree in tree_transforms.sample_trees(check, other_roots=True):
        for x in bfs.roots(check, 3):
            changed = tree_transforms.label_change(check, tree, x)
            check_spanning(check, changed, changed.root)
            if tree.in_catalogue:
                forest = check.forest("label-change", root=x, base=tree.name)
                check_ports(check, "ports of LC(x,T)", forest, changed)
    if check.n == 4:
        check_label_example(check)


def check_label_example(check: ClaimCheck) -> None:
    """Check that LC(3021, L(0123)), with symbols from 0, replaces the symbols in every link."""
    x = "4132"
    replacement = str.maketrans("1234", x)
    base = check.forest("greedy").parent_port[0]
    forest = check.forest("label-change", root=check.rank(x), base="greedy")
    parents = bfs.parents(check, base)
    changed_parents = bfs.parents(check, forest.parent_port[0])
    root = check.label(forest.root)
    check.equal("root of LC(3021, L(0123))", root, "1234".translate(replacement), of=forest)
    for node in range(1, check.nodes):
        changed_node = check.rank(check.label(node).translate(replacement))
        measured = check.label(int(changed_parents[changed_node]))
        stated = check.label(int(parents[node])).translate(replacement)
        check.equal("parent in LC(3021, L(0123))", measured, stated, node=node, of=forest)


@checks("TS.D4")
def dimension_changes_span(check: ClaimCheck) -> None:
    """Check that dimension changes DC(i,T) span and match the catalogue and the paper's example."""
    for tree in tree_transforms.sample_trees(check, other_roots=True):
        stated = check.label(tree.root)
        for i in range(check.n - 1):
            changed = tree_transforms.dimension_change(check, tree, i)
            check.equal("root of DC(i,T)", check.label(changed.root), stated, i=i, of=changed.name)
            check_spanning(check, changed, tree.root)
            if tree.in_catalogue:
                forest = check.forest("dimension-change", base=tree.name, i=i)
                check_ports(check, "ports of DC(i,T)", forest, changed)
    if check.n == 4:
        forest = check.forest("dimension-change", base="greedy", i=1)
        rotation = str.maketrans("123", "231")
        base_paths = dimension_words(check, check.forest("greedy").parent_port[0])
        measured = " ".join(dimension_words(check, forest.parent_port[0]))
        expected = " ".join(sorted(word.translate(rotation) for word in base_paths))
        what = "dimensions of the paths of DC(1, L(0123)), from 0"
        check.equal(what, measured, expected, of=forest)


def dimension_words(check: ClaimCheck, row: Row) -> list[str]:
    """Return the sequences of dimensions (from 0) on the paths from the identity, sorted."""
    parent = bfs.parents(check, row)
    words = []
    for leaf in range(check.nodes):
        word = ""
        node = leaf
        # A corrupted tree may have a cycle, so the loop also ends at a maximum length.
        while parent[node] >= 0 and len(word) <= check.nodes:
            word = str(row[node] - 1) + word
            node = int(parent[node])
        words.append(word)
    return sorted(words)


@checks("TS.S51-roots")
def changed_trees_are_rooted_at_x(check: ClaimCheck) -> None:
    """Check that the n-1 trees LC(x, DC(i,T)) are spanning trees rooted at x."""
    for tree in tree_transforms.sample_trees(check):
        numbers = range(check.n - 1)
        changes = [tree_transforms.dimension_change(check, tree, i) for i in numbers]
        for x in bfs.roots(check, 3):
            for i, change in enumerate(changes):
                changed = tree_transforms.label_change(check, change, x)
                check.equal("root", check.label(changed.root), check.label(x), i=i, of=changed.name)
                check_spanning(check, changed, x)
                if tree.name == "greedy":
                    forest = check.forest("dimension-change", root=x, base=tree.name, i=i)
                    check_ports(check, "ports", forest, changed)


@checks("TS.L7", memory=TRANSLATIONS)
def links_are_used_equally(check: ClaimCheck) -> None:
    """Check that on each level, every link is in as many changed trees as the level has nodes."""
    for tree in tree_transforms.sample_trees(check, other_roots=True):
        loads, profile = tree_transforms.link_loads(check, tree, check.n - 1)
        place = {"level": lambda index, *_: index + 1, "link": check.links, "of": tree.name}
        check.equal("trees with a link on a level", loads, profile[:, None, None], **place)


@checks("TS.S62-height")
def heights_of_single_trees(check: ClaimCheck) -> None:
    """Check the heights of the trees of [8], and the first height's order of growth.

    They are the trees of rotated Hamiltonian paths and of necklaces.
    """
    stated = {"rotated-hamiltonian": factorial(check.n - 1) + 1, "necklace": diameter(check.n)}
    for name, height in stated.items():
        tree = check.forest(name)
        check.passes(checkers.spanning, tree)
        check.equal(f"height of {name}", bfs.heights(tree), height, of=tree)
    check.same_order("((n-1)! + 1) / (n-1)!", QUOTIENTS["(n-1)!+1 over (n-1)!"])


@checks("TS.S62-equal", memory=TRANSLATIONS)
def translates_use_links_equally(check: ClaimCheck) -> None:
    """Check how many translates of the Hamiltonian-path and necklace trees of [8] use each link."""
    n = check.n
    mean = Fraction(factorial(n) - 1, n - 1)
    correction = check.correction()
    for name in ("rotated-hamiltonian", "necklace"):
        forest = check.forest(name)
        place = {"link": check.links, "of": forest}
        tree = Tree(name, forest.root, forest.parent_port[0])
        levels, _ = tree_transforms.link_loads(check, tree, 1)
        loads = levels.sum(axis=0)
        check.equal(f"translates of {name} on a link", loads, mean, **place)
        links_of_dimension = np.bincount(tree.row, minlength=n + 1)[2:]
        correction.equal("translates on a link", loads, links_of_dimension, **place)
        is_rounded = (loads >= int(mean)) & (loads <= int(mean) + 1)
        correction.true("one of two numbers", is_rounded, **place)
        levels, _ = tree_transforms.link_loads(check, tree, n - 1)
        what = "trees on a link with all dimension changes"
        correction.equal(what, levels.sum(axis=0), factorial(n) - 1, **place)
