"""Random commands that change the stores, and commands that finish interrupted commands."""

from random import Random

#: The topologies that actions store and drop, with their weights.
TOPOLOGIES = {"S3": 3, "Q3": 3, "S4,2": 3, "S5": 2}
_TREES = {
    "S3": ("multiple", "greedy", "necklace", "recursive-substar"),
    "Q3": ("binomial", "edge-disjoint-binomial"),
    "S4,2": ("nk-greedy", "nk-multiple"),
    "S5": ("multiple", "greedy", "edge-disjoint"),
}
_SCHEDULES = {
    "S3": ("broadcast:multiple", "allgather:necklace", "scatter:balanced", "gather:balanced"),
    "S5": ("broadcast:greedy",),
}
_FROM_BOTH = (
    ("graph", "verify"),
    ("query", "run", "overlap/shared-links", "forest=S4:multiple:1234"),
    ("query", "run", "overlap/load-histogram", "forest=S4:greedy:1234"),
)
_FROM_POSTGRES = (
    ("topology", "list"),
    ("forest", "show", "S4:multiple:1234"),
    ("experiment", "show", "baseline"),
    ("run", "list"),
    ("db", "check"),
    ("claims", "check", "TS.L6", "--sizes", "S4"),
)
_CLAIMS = ("TS.L5", "TS.L6", "EDT.L4", "TS.T1", "NK.Tab1")


def ingest(draw: Random) -> tuple[str, ...]:
    """Return a random ingest command."""
    spec = _topology(draw)
    words = ["ingest", spec, "--trees", ",".join(_some(draw, _TREES[spec]))]
    if spec in _SCHEDULES and draw.random() < 0.5:
        words += ["--schedules", ",".join(_some(draw, _SCHEDULES[spec]))]
    return tuple(words)


def drop(draw: Random) -> tuple[str, ...]:
    """Return a random drop command."""
    return "topology", "drop", _topology(draw), "--cascade"


def experiment(draw: Random) -> tuple[str, ...]:
    """Return a command that runs an experiment in two processes."""
    name = f"campaign-{draw.randrange(3)}"
    segments = [word for number in range(1, 7) for word in ("--segments", str(number))]
    return (
        *("experiment", "run", name, "--topology", draw.choice(("S5", "S6"))),
        *("--algorithm", "multiple", *segments, "-m", "64", "--jobs", "2", "--replace"),
    )


def claims(draw: Random) -> tuple[str, ...]:
    """Return a command that verifies claims in two processes."""
    return "claims", "check", *_some(draw, _CLAIMS), "--jobs", "2"


def change(draw: Random, *, embedded: bool = False) -> tuple[str, ...]:
    """Return a command that changes a store; ``embedded`` allows offline imports."""
    words = draw.choices((ingest, drop, experiment, claims), (4, 2, 2, 1))[0](draw)
    is_import = embedded and words[0] == "ingest" and draw.random() < 0.3
    return (*words, "--method", "import") if is_import else words


def read(draw: Random) -> tuple[str, ...]:
    """Return a command that does not change artifacts or experiments."""
    return draw.choice((*_FROM_BOTH, *_FROM_POSTGRES))


def use(draw: Random, *, bolt: bool) -> tuple[str, ...]:
    """Return a command that uses Neo4j if ``bolt``, else a command that uses PostgreSQL."""
    if bolt:
        return draw.choice((ingest(draw), ingest(draw), drop(draw), draw.choice(_FROM_BOTH)))
    return draw.choice((change(draw), change(draw), draw.choice(_FROM_POSTGRES)))


def finishing(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the commands that finish the work of an interrupted command."""
    waiting = ("--wait",)
    if words[0] == "ingest":
        return [(*words, *waiting)]
    if words[:2] == ("topology", "drop"):
        return [("ingest", words[2], *waiting), (*words, *waiting)]
    return [words]


def _topology(draw: Random) -> str:
    return draw.choices(list(TOPOLOGIES), list(TOPOLOGIES.values()))[0]


def _some(draw: Random, names: tuple[str, ...]) -> list[str]:
    return draw.sample(names, draw.randint(1, len(names)))
