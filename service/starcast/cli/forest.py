"""``starcast tree``: trees to build, prove, show and draw, and those that are stored."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starcast.cli import forest_source, stored
from starcast.cli.output import Format, FormatOption, emit, say
from starcast.errors import InputError

if TYPE_CHECKING:
    from starcast.trees import Forest

app = typer.Typer(
    no_args_is_help=True,
    help="Trees: build, prove, show and draw them; list, show and drop those that are stored.",
)

StoredArgument = Annotated[
    str, typer.Argument(help="As in 'starcast tree list', such as S5:multiple:12345.")
]


@app.command("constructions")
def list_constructions(
    topology: Annotated[
        str | None, typer.Argument(help="Only those that grow on it, such as S5.")
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the constructions: what each is, where it grows, its arguments and its paper. No server is needed."""
    from starcast.trees.catalogue import CONSTRUCTIONS, constructions

    rows = [
        {
            "construction": name,
            "what": rule.description,
            "families": list(rule.families),
            "arguments": [argument.name for argument in rule.arguments],
            "paper": rule.source,
        }
        for name, rule in ((name, CONSTRUCTIONS[name]) for name in constructions(topology))
    ]
    emit(rows, ["construction", "what", "families", "arguments", "paper"], output)


@app.command("build")
def build(
    topology: Annotated[str, typer.Argument(help="Such as S5.")],
    construction: Annotated[
        str, typer.Argument(help="Such as multiple; see 'starcast tree constructions'.")
    ],
    out: Annotated[Path, typer.Option(help="The file to write, such as forest.npz.")],
    root: forest_source.RootOption = None,
    tree: forest_source.TreeOption = None,
    i: forest_source.PlacesOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Build trees, prove that they are trees, and write them to a file. No server is needed.

    \b
    starcast tree build S5 multiple --root 54321 --out forest.npz
    starcast tree build S6 dimension-change --tree greedy --i 2 --out turned.npz
    """
    made = forest_source.chosen(topology, construction, root, tree, i)
    made.verify()
    made.save(out)
    emit(
        [_proved(made) | {"file": str(out), "bytes": out.stat().st_size}],
        [*_PROVED, "file", "bytes"],
        output,
    )


@app.command("verify")
def verify(
    topology: forest_source.WhereArgument,
    construction: forest_source.ConstructionArgument = None,
    root: forest_source.RootOption = None,
    tree: forest_source.TreeOption = None,
    i: forest_source.PlacesOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Prove that trees are trees: every node of each reaches the root. No server is needed. Exit code 6: they are not.

    \b
    starcast tree verify S9 multiple
    starcast tree verify forest.npz
    """
    from time import perf_counter

    made = forest_source.chosen(topology, construction, root, tree, i)
    began = perf_counter()
    made.verify()
    emit([_proved(made) | {"seconds": perf_counter() - began}], [*_PROVED, "seconds"], output)


_PROVED = ("name", "trees", "nodes", "edges", "spanning")


def _proved(made: "Forest") -> dict[str, Any]:
    edges = int(made.sizes.sum()) - made.trees
    spanning = bool((made.sizes == made.topology.nodes).all())
    return {
        "name": made.id,
        "trees": made.trees,
        "nodes": made.topology.nodes,
        "edges": edges,
        "spanning": spanning,
    }


@app.command("list")
def list_stored(
    ctx: typer.Context,
    topology: stored.TopologyOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the trees that are stored, and whether they are complete."""
    stored.list_things(ctx, "forest", topology, output)


@app.command("show")
def show(
    ctx: typer.Context,
    topology: Annotated[
        str,
        typer.Argument(
            help="A topology, such as S5, a file, or a stored name, such as S5:multiple:12345."
        ),
    ],
    construction: forest_source.ConstructionArgument = None,
    root: forest_source.RootOption = None,
    tree: forest_source.TreeOption = None,
    i: forest_source.PlacesOption = None,
    verify: stored.VerifyOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Measure a forest, or show a stored forest.

    A construction or a file is measured without a server; an id shows the stored figures.
    'starcast claims list' shows what the papers state about these metrics.

    \b
    starcast tree show S6 multiple
    starcast tree show forest.npz
    starcast tree show S5:multiple:12345 --verify
    """
    if construction is None and not forest_source.is_file(topology):
        if root is not None or tree is not None or i is not None:
            raise InputError(
                f"no construction is named beside '{topology}'",
                hint="write one, such as 'S5 multiple'",
            )
        stored.show_thing(ctx, "forest", topology, verify, output)
        return
    if verify:
        raise InputError(
            "--verify compares what is stored with the graph",
            hint="take 'starcast tree verify' for trees built here",
        )
    made = forest_source.chosen(topology, construction, root, tree, i)
    made.verify()
    emit(_measured(made, output), ["property", "value"], output)


def _measured(forest: "Forest", output: Format) -> list[dict[str, Any]]:
    from starcast.trees.catalogue import CONSTRUCTIONS
    from starcast.trees.metrics import forest_metrics

    values = forest_metrics(forest)
    levels = values.pop("levels")
    construction = CONSTRUCTIONS.get(forest.construction)
    rows: list[dict[str, Any]] = [
        {"property": "id", "value": forest.id},
        {"property": "source", "value": construction.source if construction else None},
    ]
    for name, value in values.items():
        text = value if output is Format.JSON else _as_text(name, value)
        rows.append({"property": name, "value": text})
    return rows + [
        {"property": f"levels_of_tree_{number}", "value": profile}
        for number, profile in enumerate(levels)
    ]


def _as_text(name: str, value: Any) -> Any:
    """Return a nested value as text; other values unchanged."""
    if name == "branches":
        return "; ".join(" ".join(map(str, sizes)) for sizes in value)
    if name == "links_by_load":
        return ", ".join(f"{links} carry {load}" for load, links in value.items())
    return value


@app.command("draw")
def draw(
    topology: forest_source.WhereArgument,
    construction: forest_source.ConstructionArgument = None,
    number: Annotated[int, typer.Option("--tree", help="Which of the trees, from 0.")] = 0,
    root: forest_source.RootOption = None,
    out: Annotated[
        Path | None, typer.Option(help="The file to write, such as tree.svg; else standard output.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Draw it even if nobody can read it.")
    ] = False,
) -> None:
    """Draw a tree as SVG, by levels, each edge in the colour of its dimension. No server is needed.

    A drawing can be read up to S5; what is larger is refused unless forced.

    \b
    starcast tree draw S4 multiple --tree 1 --out tree.svg
    starcast tree draw S4 'dimension-change(base=greedy,i=1)' > tree.svg
    """
    from starcast.drawing import draw as drawn
    from starcast.support.atomic import atomic_write

    made = forest_source.chosen(topology, construction, root)
    made.verify()
    picture = drawn(made, number, force)
    if out is None:
        print(picture, end="")
        return
    with atomic_write(out) as file:
        file.write(picture.encode())
    say(f"drew tree {number} of {made.id} as {out}")


@app.command("drop")
def drop(
    ctx: typer.Context,
    name: StoredArgument,
    cascade: stored.CascadeOption = False,
    wait: stored.WaitOption = False,
) -> None:
    """Drop the trees of a forest; refuses while schedules along them are stored."""
    stored.drop_thing(ctx, "forest", name, cascade, wait)
