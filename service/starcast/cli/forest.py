"""``starcast forest``: build, verify, measure and draw forests; manage stored forests."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starcast.cli import (
    axes,
    blocks,
    completion,
    context,
    distribution,
    forest_source,
    formats,
    pictures,
    results,
)
from starcast.cli.labels import LabelsOption
from starcast.cli.operations import command
from starcast.cli.output import FormatOption, check_suffix, emit, emit_properties, reporter, say
from starcast.errors import InputError, RejectedError
from starcast.lab import Lab
from starcast.support.table import Facts
from starcast.vocabulary import ForestFormat, Format

if TYPE_CHECKING:
    from starcast.trees import Forest

app = typer.Typer(
    no_args_is_help=True,
    help=(
        "Forests: build, verify, measure, draw and export them; list, show and drop stored forests."
    ),
)

_OTHER_NAME = "save it under another name: Forest(..., construction='mine'); or build it again"


@app.command("constructions")
def list_constructions(
    topology: axes.OnTopologyArgument = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the constructions with their families, arguments and papers. No server is needed."""
    from starcast.trees.catalogue import CONSTRUCTIONS, constructions

    rows = []
    for name in constructions(topology):
        construction = CONSTRUCTIONS[name]
        rows.append(
            {
                "construction": name,
                "description": construction.description,
                "families": list(construction.families),
                "arguments": [argument.name for argument in construction.arguments],
                "paper": construction.source,
            }
        )
    emit(rows, ["construction", "description", "families", "arguments", "paper"], output)


@app.command("build")
def build(
    topology: axes.TopologyArgument,
    construction: Annotated[
        str,
        typer.Argument(
            help="A construction, such as multiple; see 'starcast forest constructions'.",
            autocompletion=completion.constructions,
        ),
    ],
    out: Annotated[Path, typer.Option(help="Output file, such as forest.npz.")],
    root: forest_source.RootOption = None,
    base: forest_source.BaseOption = None,
    i: forest_source.PlacesOption = None,
    labels: LabelsOption = None,  # noqa: ARG001 - read by its callback
    output: FormatOption = Format.TABLE,
) -> None:
    """Build a forest, verify it, and write it to a file. No server is needed.

    \b
    starcast forest build S5 multiple --root 54321 --out forest.npz
    starcast forest build S6 dimension-change --base greedy --i 2 --out turned.npz
    """
    check_suffix(out, ".npz")
    forest = forest_source.load_forest(topology, construction, root, base, i)
    forest.verify()
    forest.save(out)
    row = _summary(forest) | {"file": str(out), "bytes": out.stat().st_size}
    emit([row], list(row), output)


@app.command("verify")
def verify(
    source: forest_source.SourceArgument,
    construction: forest_source.ConstructionArgument = None,
    root: forest_source.RootOption = None,
    base: forest_source.BaseOption = None,
    i: forest_source.PlacesOption = None,
    by_blocks: Annotated[
        bool,
        typer.Option(
            "--blocks",
            help="Verify a closed form block by block: up to S16, in little memory (needs numba).",
        ),
    ] = False,
    jobs: distribution.JobsOption = None,
    workers: distribution.WorkersOption = None,
    shard: distribution.ShardOption = None,
    out: distribution.ShardFileOption = None,
    labels: LabelsOption = None,  # noqa: ARG001 - read by its callback
    output: FormatOption = Format.TABLE,
) -> None:
    """Verify that every node of each tree reaches the root. Exit code 6 if not.

    A file whose forest is named after a construction must hold the trees of that construction. No
    server is needed.

    With --blocks also the heights of the trees and the loads of all links are computed; the last
    four options belong to it.

    \b
    starcast forest verify S9 multiple
    starcast forest verify forest.npz
    starcast forest verify S13 multiple --blocks --jobs 2
    """
    from time import perf_counter

    options = blocks.BlockOptions(by_blocks, jobs, workers, shard, out)
    if by_blocks:
        arguments = {key: value for key, value in (("base", base), ("i", i)) if value is not None}
        verified = blocks.verify(source, construction, root, arguments, options)
        emit([verified], list(verified), output)
        return
    options.check_absent()
    forest = forest_source.load_forest(source, construction, root, base, i)
    start = perf_counter()
    forest.verify()
    row = _summary(forest) | {"seconds": perf_counter() - start}
    if sentence := forest_source.describe_other_trees(source, forest):
        raise RejectedError(sentence, hint=_OTHER_NAME)
    emit([row], list(row), output)


def _summary(forest: "Forest") -> dict[str, Any]:
    return {
        "id": forest.id,
        "trees": forest.trees,
        "nodes": forest.topology.nodes,
        "edges": int(forest.sizes.sum()) - forest.trees,
        "spanning": bool((forest.sizes == forest.topology.nodes).all()),
    }


@app.command("merge")
def merge(files: distribution.ShardFilesArgument, output: FormatOption = Format.TABLE) -> None:
    """Merge the shards of a verification by blocks; print what the whole verification prints.

    Refused are incomplete, overlapping and damaged shards, and those of other versions.

    \b
    starcast forest merge part-*.json
    """
    row = blocks.merge(files)
    emit([row], list(row), output)


command(app, "list", Lab.forests)


@app.command("show")
def show(
    ctx: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="TOPOLOGY",
            help="A topology, such as S5, a file, or the id of a stored forest.",
            autocompletion=completion.topologies_or_forests,
        ),
    ],
    construction: forest_source.ConstructionArgument = None,
    root: forest_source.RootOption = None,
    base: forest_source.BaseOption = None,
    i: forest_source.PlacesOption = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Recompute counts and checksums in Neo4j and compare.")
    ] = False,
    labels: LabelsOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Measure a forest and compare it with its paper, or show a stored forest.

    A construction or a file is measured without a server; an id shows the stored figures.

    \b
    starcast forest show S6 multiple
    starcast forest show forest.npz
    starcast forest show S5:multiple:12345 --verify
    """
    from starcast.permutations import labels_from

    if construction is None and not forest_source.is_file(source):
        if root is not None or base is not None or i is not None:
            raise InputError(
                f"no construction is given after '{source}'",
                hint="add one, such as 'S5 multiple'",
            )
        if labels is not None:
            raise InputError(
                "--labels is for constructions and files; stored forests have labels from 1",
                hint="remove it, or name a topology and a construction",
            )
        with labels_from(1), context.open_lab(ctx, reporter()) as lab:
            results.facts(output)(lab.show(source, kind="forest", verify=verify))
        return
    if verify:
        raise InputError(
            "--verify compares a stored forest with the graph",
            hint="use 'starcast forest verify' for a construction or a file",
        )
    forest = forest_source.load_forest(source, construction, root, base, i)
    forest.verify()
    if sentence := forest_source.describe_other_trees(source, forest):
        say(sentence)
    results.facts(output)(Facts(_measured(forest)))


def _measured(forest: "Forest") -> dict[str, Any]:
    from starcast.trees.catalogue import CONSTRUCTIONS
    from starcast.trees.metrics import forest_metrics

    construction = CONSTRUCTIONS.get(forest.construction)
    source = construction.source if construction else None
    return {"id": forest.id, "source": source, **forest_metrics(forest)}


@app.command("draw")
def draw(
    source: forest_source.SourceArgument,
    construction: forest_source.ConstructionArgument = None,
    number: Annotated[
        int | None, typer.Option("--tree", help="Number of the tree, from 0 (default: 0).")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Draw all trees side by side.")] = False,
    load: Annotated[
        bool, typer.Option("--load", help="Draw the load of all trees as the width of links.")
    ] = False,
    layout: pictures.LayoutOption = None,
    root: forest_source.RootOption = None,
    out: pictures.OutOption = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Draw even if the tree has more than 128 nodes."),
    ] = False,
    labels: LabelsOption = None,  # noqa: ARG001 - read by its callback
    output: FormatOption = Format.TABLE,
) -> None:
    """Draw a tree by levels, with edges coloured by dimension, or all trees. No server is needed.

    With --layout, the nodes have the places that they have in 'topology draw'. Drawings are
    readable up to S5.

    \b
    starcast forest draw S4 multiple --tree 1 --out tree.svg
    starcast forest draw S5 multiple --all --out trees.pdf
    starcast forest draw S4 multiple --load --layout torus --out load.png
    """
    from starcast import drawing

    pictures.check(out)
    if out is None and output is not Format.TABLE:
        raise InputError(f"--format {output} describes a file", hint="add --out FILE.svg")
    choices = {"--tree": number is not None, "--all": every, "--load": load}
    chosen = [option for option, given in choices.items() if given]
    if len(chosen) > 1:
        raise InputError(f"{chosen[0]} and {chosen[1]} cannot be combined", hint="remove one")
    forest = forest_source.load_forest(source, construction, root)
    forest.verify()
    if sentence := forest_source.describe_other_trees(source, forest):
        say(sentence)
    tree = number or 0
    drawn: dict[str, Any] = {"id": forest.id}
    if load:
        picture, subject = drawing.draw_load(forest, layout), f"the load of {forest.id}"
    elif every:
        picture, subject = drawing.draw_forest(forest, layout), f"all trees of {forest.id}"
    else:
        subject = f"tree {tree} of {forest.id}"
        drawn["tree"] = tree
        if layout is None:
            picture = drawing.draw(forest, tree, force)
        else:
            picture = drawing.draw_trees(forest, [tree], layout)
    pictures.write(picture, out, f"drew {subject} to {out}")
    if out is not None and output is not Format.TABLE:
        emit_properties(drawn | {"file": str(out), "bytes": out.stat().st_size}, output)


@app.command("export")
def export_forest(
    source: forest_source.SourceArgument,
    to: Annotated[ForestFormat, typer.Option("--to", help="Format of the file.")],
    construction: forest_source.ConstructionArgument = None,
    number: Annotated[
        int | None, typer.Option("--tree", help="Number of the only tree to write, from 0.")
    ] = None,
    root: forest_source.RootOption = None,
    base: forest_source.BaseOption = None,
    i: forest_source.PlacesOption = None,
    out: formats.OutOption = None,
    labels: LabelsOption = None,  # noqa: ARG001 - read by its callback
) -> None:
    """Verify a forest and write it to a file of another tool. No server is needed.

    dot has an edge from parent to child for every edge of a tree; newick has a line per tree; json
    has nested nodes with their children.

    \b
    starcast forest export S5 multiple --to dot --out s5.dot
    starcast forest export S4 greedy --root 4321 --to newick
    """
    forest = forest_source.load_forest(source, construction, root, base, i)
    forest.verify()
    if sentence := forest_source.describe_other_trees(source, forest):
        say(sentence)
    formats.write(forest, to, out, tree=number)


command(app, "drop", Lab.drop, kind="forest")
