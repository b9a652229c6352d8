"""The operations on forests, which are built by a construction, read from a file, or stored."""

import os
from collections.abc import Mapping
from concurrent.futures import Executor
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

from starcast.lab.artifacts import Artifacts
from starcast.lab.results import ExchangeFile, Picture
from starcast.lab.signature import (
    All,
    Jobs,
    LayoutOption,
    OptionalOutFile,
    OptionalTopology,
    OutFile,
    Root,
    ShardFiles,
    ShardName,
    Shell,
    TopologyName,
    check_suffix,
    read_topology,
)
from starcast.support.errors import InputError, RejectedError, only_one_of
from starcast.support.table import Facts, Table
from starcast.support.vocabulary import ForestFormat

if TYPE_CHECKING:
    from starcast.judges.blockwise import BlockVerification
    from starcast.topologies import Topology
    from starcast.trees import Forest

ForestSource = Annotated[
    "str | Path | Topology | Forest", Shell(str, metavar="TOPOLOGY", completes="topologies")
]
ShownSource = Annotated[
    "str | Path | Topology | Forest",
    Shell(str, metavar="TOPOLOGY", completes="topologies_or_forests"),
]
ConstructionName = Annotated[str, Shell(completes="constructions")]
OptionalConstruction = Annotated[str | None, Shell(completes="constructions")]

#: Properties that `show_forest` omits, because they follow from the id or from other properties.
_OMITTED = {"id", "topology", "construction", "arguments", "root", "root_label"}
_OMITTED |= {"nodes", "edges", "height"}
_OTHER_NAME = "save the forest under another name, such as construction='mine', or build it again"


class ForestOptions(TypedDict, total=False):
    """Keyword arguments of methods that build forests: the root, and arguments of constructions.

    Attributes:
        root: root: a label, or a rank such as #6 (default: the node of rank 0). In Python, the rank
            can also be an integer.
        base: construction whose trees are transformed, if the given construction is label-change or
            dimension-change.
        i: number of positions, from 0 to n-2, by which dimension-change shifts the dimensions of
            all links cyclically.
    """

    root: Root
    base: OptionalConstruction
    i: int | None


class Forests(Artifacts):
    """Operations on forests. Only operations on stored forests need a server."""

    def constructions(self, topology: OptionalTopology = None) -> Table:
        """List the constructions with their families, arguments and papers. No server is needed.

        Args:
            topology: list only constructions that are defined on this topology, such as S5.

        Raises:
            InputError: the topology is unknown.
        """
        from starcast.trees.construction import CONSTRUCTIONS, constructions

        on = None if topology is None else read_topology(topology)
        chosen = [CONSTRUCTIONS[name] for name in constructions(on)]
        rows = [
            {
                "construction": each.name,
                "description": each.description,
                "families": list(each.families),
                "arguments": list(each.argument_names),
                "paper": each.source,
            }
            for each in chosen
        ]
        return Table.of(rows, ("construction", "description", "families", "arguments", "paper"))

    def build_forest(
        self,
        topology: TopologyName,
        construction: ConstructionName,
        *,
        out: OutFile,
        **options: Unpack[ForestOptions],
    ) -> Table:
        """Build a forest, verify it, and write it to a file. No server is needed.

        Args:
            topology: a topology, such as the star graph S5, the (n,k)-star S6,3 or the hypercube
                Q4, or a file with a network.
            construction: a construction, such as multiple or
                ``dimension-change(base=multiple,i=2)``.
            out: output file, such as forest.npz.
            options: root, and arguments of the construction; see `ForestOptions`.

        Returns:
            One row: the id of the forest, its numbers of trees, nodes and edges, the path of the
            file, and its size in bytes.

        Raises:
            InputError: a name or an argument is wrong, or the file cannot be written.
            LimitError: the trees are larger than the memory of this machine.

        Example:
            >>> lab.build_forest("S5", "multiple", out="forest.npz")["edges"]
            [476]

            $ starcast forest build S5 multiple --root 54321 --out forest.npz
            $ starcast forest build S6 dimension-change --base greedy --i 2 --out turned.npz
        """
        check_suffix(out, ".npz")
        forest = load_forest(topology, construction, options)
        # The forest is verified before it is written, so that an invalid array is never saved.
        forest.verify()
        forest.save(out)
        return _one(_counts(forest) | {"file": str(out), "bytes": Path(out).stat().st_size})

    def verify_forest(
        self,
        source: ForestSource,
        construction: OptionalConstruction = None,
        *,
        blocks: bool = False,
        jobs: Jobs = None,
        executor: Executor | None = None,
        shard: ShardName = None,
        out: OptionalOutFile = None,
        **options: Unpack[ForestOptions],
    ) -> Table:
        """Verify that every tree of a forest is a tree with the forest's root.

        The trees must contain all nodes, unless the forest is partial. If the id of a forest in a
        file names a construction, the trees must equal those that it builds. In a shell, the exit
        code is 6 if one of these conditions is violated. No server is needed.

        With ``blocks``, the parents are computed from a closed form, block by block, so that trees
        that do not fit into memory can be verified. The heights of the trees and the loads of all
        links are computed too. ``jobs``, ``executor``, ``shard`` and ``out`` need ``blocks``.

        Args:
            source: a topology, such as S5, on which ``construction`` builds the forest, or a file
                that ``starcast forest build`` wrote. In Python, a `Forest` is also accepted.
            construction: a construction, such as multiple or
                ``dimension-change(base=multiple,i=2)``. Omit it for a forest from a file.
            blocks: compute the trees from a closed form and verify them block by block, for star
                graphs up to S16 (needs numba).
            jobs: number of processes.
            executor: a `concurrent.futures.Executor` that verifies the blocks (default: processes
                on this machine).
            shard: divide the verification by blocks into N parts, verify only part I, and write the
                result to ``out``; ``starcast forest merge`` merges the N files.
            out: output file of ``shard``, such as part.json or part.json.gz.
            options: root, and arguments of the construction; see `ForestOptions`.

        Returns:
            One row: the id of the forest, its counts (or, for a shard, the number of tasks and the
            path of the file), and the verification time in seconds.

        Raises:
            RejectedError: a tree is not a spanning tree (the error names the first node that does
                not reach the root), or the trees differ from those of the construction that the id
                names.
            InputError: a name, an argument or a file is wrong, the construction has no closed form,
                or the options cannot be combined.
            LimitError: the trees are larger than the memory of this machine, or the topology is
                larger than S16.

        Example:
            >>> lab.verify_forest("S7", "multiple", blocks=True)["congestion"]
            [2]

            $ starcast forest verify S9 multiple
            $ starcast forest verify forest.npz
            $ starcast forest verify S13 multiple --blocks --jobs 2
            $ starcast forest verify S13 multiple --blocks --shard 3/40 --out part-3.json
        """
        if blocks:
            return self._verify_blocks(source, construction, options, jobs, executor, shard, out)
        for_blocks = {"jobs": jobs, "executor": executor, "shard": shard, "out": out}
        for name, value in for_blocks.items():
            if value is not None:
                raise InputError(
                    f"`{name}` applies only to verification by blocks",
                    hint=f"add `blocks`, or remove `{name}`",
                )
        forest = load_forest(source, construction, options)
        # The measured time does not include building or reading the forest.
        start = perf_counter()
        forest.verify()
        seconds = perf_counter() - start
        if construction is None and (sentence := _other_trees(source, forest)):
            raise RejectedError(sentence, hint=_OTHER_NAME)
        return _one(_counts(forest) | {"seconds": seconds})

    def _verify_blocks(
        self,
        source: "str | Path | Topology | Forest",
        construction: str | None,
        options: ForestOptions,
        jobs: int | None,
        executor: Executor | None,
        shard: str | None,
        out: str | Path | None,
    ) -> Table:
        from starcast.judges import blockwise
        from starcast.support.shards import parse_shard

        part = parse_shard(shard, out)
        if construction is None:
            raise InputError(
                f"no construction is given after '{source}'",
                hint="with `blocks`, specify a topology and a construction, such as 'S13 multiple'",
            )
        spec = getattr(source, "spec", source)
        closed = blockwise.closed_form(str(spec), construction, **_given(options))
        start = perf_counter()
        if part is None or out is None:
            found = blockwise.verify_blocks(closed, jobs, self.reporter, executor)
            return _one(_figures(found, start))
        tasks = blockwise.verify_shard(closed, part, Path(out), jobs, self.reporter, executor)
        written = {"id": closed.id, "shard": str(part), "tasks": tasks, "file": str(out)}
        return _one(written | {"seconds": perf_counter() - start})

    def merge_forest(self, *files: ShardFiles) -> Table:
        """Merge the shard files of one verification by blocks.

        Incomplete, overlapping or damaged shards, and shards from another version of starcast, are
        refused.

        Args:
            files: the files of all N shards, in any order.

        Raises:
            InputError: the files are not all shards of one verification, or are damaged.
            RejectedError: the shards were computed by another version of the code, or a tree is not
                a spanning tree.

        Example:
            $ starcast forest merge part-*.json
        """
        from starcast.judges.blockwise import merge_blocks

        start = perf_counter()
        return _one(_figures(merge_blocks([Path(file) for file in files]), start))

    def show_forest(
        self,
        source: ShownSource,
        construction: OptionalConstruction = None,
        *,
        verify: bool = False,
        **options: Unpack[ForestOptions],
    ) -> Facts:
        """Show the properties of a forest, such as heights and congestion, and its paper.

        The properties of a construction or a file are computed without a server. For the id of a
        stored forest, the stored values are shown, and node labels consist of the symbols 1..n.

        Args:
            source: a topology, such as S5, on which ``construction`` builds the forest; a file that
                ``starcast forest build`` wrote; or the id of a stored forest. In Python, a `Forest`
                is also accepted.
            construction: a construction, such as multiple or
                ``dimension-change(base=multiple,i=2)``. Omit it for a forest from a file.
            verify: also check that the counts and checksums in Neo4j equal the values recorded when
                the forest was stored.
            options: root, and arguments of the construction; see `ForestOptions`.

        Raises:
            InputError: a name, an argument or a file is wrong, or the options cannot be combined.
            NotFoundError: no forest with this id is stored.
            RejectedError: a tree of the forest is not a spanning tree; or ``verify`` is given, and
                the counts or checksums in Neo4j differ.

        Example:
            >>> lab.show_forest("S6", "multiple")["congestion"]
            2

            $ starcast forest show S6 multiple
            $ starcast forest show forest.npz
            $ starcast forest show S5:multiple:12345 --verify
        """
        from starcast.topologies.permutations import first_symbol, labels_from
        from starcast.trees.construction import CONSTRUCTIONS
        from starcast.trees.metrics import PROPERTIES, describe_forest

        if construction is None and not is_forest(source):
            if _given(options):
                raise InputError(
                    f"options of a construction are given, but no construction follows '{source}'",
                    hint="add a construction, such as 'S5 multiple', or remove the options, which "
                    "do not apply to a stored forest",
                )
            if first_symbol() != 1:
                self.reporter.say("labels in stored forests consist of the symbols 1..n")
            with labels_from(1):
                return self.show(str(source), kind="forest", verify=verify)
        if verify:
            raise InputError(
                "`verify` applies only to a stored forest, which it compares with the graph",
                hint="use 'starcast forest verify' for a construction or a file",
            )
        forest = self._verified(source, construction, options)
        known = CONSTRUCTIONS.get(forest.construction)
        paper = known.source if known else None
        names = [name for name in PROPERTIES if name not in _OMITTED]
        return Facts({"id": forest.id, "source": paper, **describe_forest(forest, names)})

    def draw_forest(
        self,
        source: ForestSource,
        construction: OptionalConstruction = None,
        *,
        tree: int | None = None,
        all_trees: All = False,
        load: bool = False,
        layout: LayoutOption = None,
        force: bool = False,
        **options: Unpack[ForestOptions],
    ) -> Picture:
        """Draw one tree by levels, with edges coloured by port, or draw all trees.

        No server is needed. With ``layout``, the nodes are arranged in a layout of ``topology
        draw`` instead of by levels. Drawings are readable up to S5.

        Args:
            source: a topology, such as S5, on which ``construction`` builds the forest, or a file
                that ``starcast forest build`` wrote. In Python, a `Forest` is also accepted.
            construction: a construction, such as multiple or
                ``dimension-change(base=multiple,i=2)``. Omit it for a forest from a file.
            tree: number of the tree to draw, counted from 0 (default: 0).
            all_trees: draw all trees side by side.
            load: draw the links of the topology; the more trees use a link, the wider the link is
                drawn.
            layout: arrangement of the nodes: a layout of ``topology draw`` (default: by the levels
                of each tree; with ``load``, the default of the topology).
            force: draw one tree by levels even if it has more than 128 nodes.
            options: root, and arguments of the construction; see `ForestOptions`.

        Raises:
            InputError: a name, an argument or a file is wrong, or the options cannot be combined.
            RejectedError: a tree of the forest is not a spanning tree.
            LimitError: the trees have too many nodes for a drawing.

        Example:
            $ starcast forest draw S4 multiple --tree 1 --out tree.svg
            $ starcast forest draw S5 multiple --all --out trees.pdf
            $ starcast forest draw S4 multiple --load --layout torus --out load.png
        """
        from starcast import drawing

        only_one_of(tree=tree, all_trees=all_trees, load=load)
        forest = self._verified(source, construction, options)
        if load:
            return Picture(drawing.draw_load(forest, layout), f"the load of {forest.id}")
        if all_trees:
            return Picture(drawing.draw_forest(forest, layout), f"all trees of {forest.id}")
        number = tree or 0
        if layout is None:
            svg = drawing.draw_tree(forest, number, force)
        else:
            svg = drawing.draw_trees(forest, [number], layout)
        return Picture(svg, f"tree {number} of {forest.id}")

    def export_forest(
        self,
        source: ForestSource,
        construction: OptionalConstruction = None,
        *,
        to: ForestFormat,
        tree: int | None = None,
        **options: Unpack[ForestOptions],
    ) -> ExchangeFile:
        """Verify a forest and write it to a file for another tool. No server is needed.

        A dot file has a directed edge from parent to child for every edge of a tree. A newick file
        has one line per tree. A json file nests the children of a node inside the node. Some
        programs read the labels of inner nodes in newick files as numbers, because the labels
        consist of digits.

        Args:
            source: a topology, such as S5, on which ``construction`` builds the forest, or a file
                that ``starcast forest build`` wrote. In Python, a `Forest` is also accepted.
            construction: a construction, such as multiple or
                ``dimension-change(base=multiple,i=2)``. Omit it for a forest from a file.
            to: format of the file.
            tree: number of the single tree to write, counted from 0 (default: all trees).
            options: root, and arguments of the construction; see `ForestOptions`.

        Returns:
            An `ExchangeFile`, whose method `save` writes the file.

        Raises:
            InputError: a name, an argument or a file is wrong, or no tree has this number.
            RejectedError: a tree of the forest is not a spanning tree.

        Example:
            $ starcast forest export S5 multiple --to dot --out s5.dot
            $ starcast forest export S4 greedy --root 4321 --to newick
        """
        return ExchangeFile(self._verified(source, construction, options), to, {"tree": tree})

    def _verified(
        self,
        source: "str | Path | Topology | Forest",
        construction: str | None,
        options: ForestOptions,
    ) -> "Forest":
        """Return a verified forest; warn if the construction in its id builds other trees."""
        forest = load_forest(source, construction, options)
        forest.verify()
        # Trees that differ from the construction are still spanning trees, so a warning is enough
        # here. Only `verify_forest` raises an error.
        if construction is None and (sentence := _other_trees(source, forest)):
            self.reporter.say(sentence)
        return forest


def load_forest(
    source: "str | Path | Topology | Forest",
    construction: str | None = None,
    options: ForestOptions | None = None,
) -> "Forest":
    """Return a forest that is built by a construction, read from a file, or given as a `Forest`.

    Raises:
        InputError: the topology, the construction, the root or an argument is unknown, the file
            cannot be read, or the arguments cannot be combined.
    """
    from starcast.trees import Forest, forest

    given = _given(options or {})
    if construction is not None:
        topology: Any = source
        return forest(read_topology(topology), construction, **given)
    if not is_forest(source):
        raise InputError(
            f"'{source}' is not a file, and no construction is given",
            hint="add a construction, such as 'S5 multiple'",
        )
    if given:
        raise InputError(
            "the root and the arguments of an existing forest cannot be changed",
            hint="omit the root and the arguments",
        )
    return source if isinstance(source, Forest) else Forest.open(str(source))


def is_forest(source: "str | Path | Topology | Forest") -> bool:
    """Return whether the source is a `Forest` or a forest file, not a topology or an id."""
    from starcast.trees import Forest

    if isinstance(source, Forest):
        return True
    name = str(source)
    # A missing .npz file is also treated as a forest file, so that the error names this file.
    return name.endswith(".npz") or os.path.isfile(name)  # noqa: PTH113 - never raises


def _given(options: ForestOptions) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _other_trees(source: "str | Path | Topology | Forest", forest: "Forest") -> str:
    """Return a warning if the construction in a forest's id builds other trees, otherwise ""."""
    from starcast.trees.construction import find_difference

    difference = find_difference(forest)
    name = "the forest" if source is forest else source
    if not difference:
        return ""
    expected = "its trees differ from those of the construction"
    return f"{name} has the id {forest.id}, but {expected}: {difference}"


def _one(row: Mapping[str, Any]) -> Table:
    return Table.of([row], row)


def _counts(forest: "Forest") -> dict[str, Any]:
    from starcast.trees.metrics import describe_forest

    return describe_forest(forest, ("id", "trees", "nodes", "edges", "spanning"))


def _figures(found: "BlockVerification", start: float) -> dict[str, Any]:
    return {
        "id": found.id,
        "trees": found.trees,
        "nodes": found.nodes,
        "edges": found.edges,
        "spanning": True,
        "heights": list(found.heights),
        "congestion": found.congestion,
        "load_histogram": found.load_histogram,
        "seconds": perf_counter() - start,
    }
