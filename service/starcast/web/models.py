"""The types of the responses of the HTTP API."""

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from starcast.support.axes import AXES, POINT_AXES
from starcast.support.vocabulary import Collective, Ports, VerdictWord

JsonRows = list[dict[str, Any]]
#: A string; other objects are converted to strings.
Text = Annotated[str, BeforeValidator(str)]


class AlgorithmName(BaseModel):
    """An algorithm that is defined on a topology."""

    collective: Collective
    algorithm: str
    ports: list[Ports]


class LayoutEntry(BaseModel):
    """A layout of a topology; the URL ``layout/NAME`` returns the positions of the nodes."""

    name: str
    description: str
    periods: list[list[float]] = Field(
        description="two vectors (x, y) by which the layout can be moved without changing it; "
        "empty for most layouts"
    )


class TopologyResource(BaseModel):
    """A topology with its counts, distances, constructions and algorithms."""

    spec: str
    family: str
    n: int
    k: int | None
    nodes: int
    endpoints: int = Field(
        description="number of nodes that are not switches; these nodes have the lowest ranks"
    )
    links: int
    degree: int = Field(description="the largest number of links at a node")
    port_count: int
    ports: list[int]
    port_names: list[str] = Field(examples=[["dimension 2", "dimension 3"]])
    reverse_ports: list[int] = Field(
        description="for each of `ports`, the port of the same link at the neighbour"
    )
    diameter: int | None = Field(
        description="largest distance between two endpoints; null if unknown"
    )
    mean_distance: float | None
    exact_mean_distance: str | None = Field(
        description="exact mean distance between two different endpoints, as a fraction; null if "
        "unknown"
    )
    distance_profile: list[int] | None = Field(
        description="number of nodes at distance 0, 1, ... from any node or, if this depends on "
        "the node, number of ordered pairs of endpoints at distance 0, 1, ..."
    )
    has_translations: bool
    translation_keeps_ports: bool
    link_capacities: list[int] | None = Field(
        description="capacity of each link; links are ordered by the smaller rank of their ends, "
        "then by the port at that end; null if all capacities are 1"
    )
    link_latencies: list[int] | None = Field(
        description="latency of each link, in the order of `link_capacities`; null if all are zero"
    )
    constructions: list[str]
    algorithms: list[AlgorithmName]
    layouts: list[LayoutEntry] = Field(
        description="available layouts, of which the first is the default"
    )
    labels_url: str
    neighbours_url: str


class Labels(BaseModel):
    """The labels of all nodes, by rank."""

    labels: list[str]


class ListedArtifact(BaseModel):
    """A forest or schedule on a topology, with its id and its short name."""

    id: str
    name: str
    stored: bool


class ForestResource(BaseModel):
    """A forest, with URLs of its arrays."""

    id: str
    name: str
    topology: str
    construction: str
    arguments: dict[str, int | str]
    root: int = Field(description="rank of the node that is the root of all trees")
    root_label: str
    trees: int
    spanning: bool
    height: int
    heights: list[int]
    sizes: list[int]
    leaves: list[int]
    congestion: int
    load_histogram: dict[int, int]
    parent_ports_url: str
    load_url: str


class ScheduleResource(BaseModel):
    """A schedule, with URLs of its rows and steps."""

    id: str
    name: str
    topology: str
    collective: Collective
    algorithm: str
    ports: Ports
    root: int = Field(description="rank of the root, or of the source of a symmetric schedule")
    root_label: str
    arguments: dict[str, int | str]
    units: int
    message_units: int
    symmetric: bool = Field(
        description="whether the schedule contains only the rows of one source; the rows of the "
        "other sources are translations of these rows"
    )
    forest_id: str | None
    steps: int
    rows: int
    rows_url: str
    steps_url: str


class Step(BaseModel):
    """A step of a schedule for all sources: the links used, and the units in the largest packet."""

    step: int
    links_used: int
    largest_packet: int


class Undelivered(BaseModel):
    """A unit that a node should have received but did not."""

    node: str
    unit: int


class SimulationResource(BaseModel):
    """The results of executing a schedule, possibly under faults."""

    schedule: str
    faults: list[str]
    expanded: bool = Field(
        description="whether a symmetric schedule was expanded to the rows of all sources"
    )
    steps: int
    transmissions: int
    largest_packet: int
    complete: bool
    missing: int = Field(
        description="number of (node, unit) pairs that should have been delivered but were not"
    )
    undelivered: list[Undelivered] = Field(
        description="(node, unit) pairs that were not delivered; at most 10 are listed"
    )
    violation: str | None
    links_used: list[int]
    packet_sizes: list[int]
    received: list[int] = Field(
        description="number of units that each node received, by rank; for a symmetric schedule "
        "that was not expanded, only units of one source or, in a reduction, of one destination"
    )
    remarks: list[str]


class StoredArtifact(BaseModel):
    """A stored topology, forest or schedule. A field without a stored value is null."""

    id: str
    state: str
    error: str | None = None
    url: str


class StoredTopology(StoredArtifact):
    """A stored topology in a listing."""

    family: str | None
    nodes: int | None
    endpoints: int | None
    links: int | None
    degree: int | None
    diameter: int | None
    used_by: str = Field(
        description="numbers of stored objects that use the topology, such as '2 forests, 1 run'"
    )


class StoredForest(StoredArtifact):
    """A stored forest in a listing."""

    topology: str | None
    construction: str | None
    root_label: str | None
    trees: int | None
    height: int | None
    congestion: int | None


class StoredSchedule(StoredArtifact):
    """A stored schedule in a listing."""

    topology: str | None
    collective: str | None
    algorithm: str | None
    ports: str | None
    arguments: str | dict[str, Any] | None
    steps: int | None
    transmissions: int | None
    largest_packet: int | None


class QueryParameter(BaseModel):
    """A parameter of a query."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    type: Text
    meaning: str
    required: bool
    default: Any


class QueryColumn(BaseModel):
    """A column of a query's result."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    meaning: str
    type: Text | None


class QueryName(BaseModel):
    """A query in a listing."""

    query: str
    title: str
    question: str
    url: str


class QueryResource(QueryName):
    """A query of a pack, with the fields of its header and its Cypher statement."""

    parameters: list[QueryParameter]
    columns: list[QueryColumn]
    cost: str
    revision: int
    reference: str
    cypher: str
    drawable: bool = Field(description="whether the query's result contains nodes and can be drawn")
    answer_url: str


class AnswerResource(BaseModel):
    """The result of a query."""

    query: str
    parameters: dict[str, Any]
    columns: list[str]
    rows: JsonRows
    more: bool = Field(
        description="whether rows were omitted because the result exceeds the row limit"
    )
    note: str
    cypher: str


class ExperimentResource(BaseModel):
    """A stored experiment in a listing. The values of its axes are strings."""

    experiment: str
    runs: int
    points: int | None
    failed: int
    axes: dict[str, str]
    created: str
    url: str


class _Numbered(BaseModel):
    run: int


if TYPE_CHECKING:
    _Axes = _Numbered
else:
    # The fields depend on the declared axes, so a static class cannot list them.
    _Axes = create_model(
        "_Axes",
        __base__=_Numbered,
        **{name: float if AXES[name].type is Fraction else AXES[name].type for name in POINT_AXES},
    )


class RunResource(_Axes):
    """A stored run with its parameters and results."""

    status: str
    error: str | None
    steps: int | None
    time: float | None
    gap: float | None
    missing: int
    finished: str


class ExperimentDetail(BaseModel):
    """An experiment, with the runs on one page of the listing."""

    experiment: str
    note: str = Field(
        description="a sentence that states how many runs are missing; empty if no run is missing"
    )
    runs: list[RunResource]
    next: str | None


class SpotData(BaseModel):
    """A point of a curve: the time at one message size."""

    message_bytes: float
    time: float
    segments: int | None = None
    steps: int | None = None
    run: int | None = None


class CurveData(BaseModel):
    """A curve of time against message size: an algorithm's fastest stored runs, or lower bounds."""

    label: str
    spots: list[SpotData]
    path: list[tuple[float, float]] = Field(
        description="vertices (message_bytes, time) of the polyline that draws the curve: all "
        "points in spots, and intermediate points"
    )


class Crossover(BaseModel):
    """A message size, or a range of message sizes, at which two curves cross."""

    first: str
    second: str
    how: Literal["at", "between", "equal from"]
    low: float
    high: float
    time: float | None
    below: str
    above: str
    sentence: str


class ProfileData(BaseModel):
    """The number of links that one run of a curve uses in each step.

    The run is the curve's fastest run at the largest message size that all curves of the panel have
    or, if no message size is common to all, at the largest message size of the curve.
    """

    label: str
    run: int
    segments: int
    links: int = Field(description="number of directed links of the topology")
    links_used: list[int] = Field(description="number of directed links used in each step")


class PanelData(BaseModel):
    """Curves that share a plot.

    The runs of the curves may differ only in algorithm, base, copies, segments, message size and
    the axes in ``across``.
    """

    name: str
    curves: list[CurveData]
    bounds: list[CurveData] = Field(
        description="curves of the lower bound, one for each combination of values of the axes "
        "in `across`"
    )
    crossovers: list[Crossover]
    profiles: list[ProfileData] = Field(
        description="links used per step, for one run per curve; empty if another panel shows them"
    )


class Curves(BaseModel):
    """The panels (plots) of an experiment, with their curves."""

    panels: list[PanelData]


class CommandsData(BaseModel):
    """The commands that repeat the runs of one or more sides (compared experiments or runs)."""

    sides: list[str]
    repeat: str = Field(
        description="command that repeats the runs on this machine and compares the results"
    )
    elsewhere: list[str] = Field(
        description="commands that execute the runs on another machine or with another database"
    )


class ComparisonResource(BaseModel):
    """A comparison of stored experiments or runs."""

    title: str
    titles: list[str] = Field(
        description="titles of the compared experiments; experiments without a title are omitted"
    )
    sides: list[str] = Field(
        description="names of the compared experiments or runs, the baseline first"
    )
    remarks: list[str] = Field(
        description="sentences that state how many runs of an incomplete experiment are missing"
    )
    parameters: dict[str, str] = Field(
        description="names and values of the run parameters that are equal in all rows"
    )
    across: list[str] = Field(description="axes in which compared runs may differ")
    matched_by: str = Field(description="a sentence that states which runs are paired")
    networks: list[str] = Field(
        description="sizes of the networks, if runs on different topologies are compared"
    )
    summary: JsonRows = Field(
        description="for each compared experiment or run: its algorithms and networks, its number "
        "of runs, and in how many rows it is better, worse, the same or not comparable"
    )
    reasons: dict[str, int] = Field(
        description="for each reason why rows are not comparable, the number of such rows"
    )
    columns: list[str]
    rows: JsonRows
    note: str
    panels: list[PanelData]
    crossovers: JsonRows
    provenance: JsonRows = Field(
        description="machines and versions of the code that executed the runs"
    )
    commands: list[CommandsData]


class ClaimResource(BaseModel):
    """A claim of a paper, with its newest stored verdict."""

    id: str
    paper: str
    number: str
    statement: str
    notation: str
    verdict: VerdictWord | None
    sizes: list[str]
    counterexample: str
    url: str


class ClaimDetail(ClaimResource):
    """A claim with all its details."""

    reading: str
    record: str = Field(
        description="search problem whose records contain the best known values for the "
        "subject of the claim; empty for most claims"
    )
    parts: list[str]
    detail: str
    run: int | None = Field(
        description="number of the verification run that stored the verdict; null if no "
        "verdict is stored"
    )
    verified_by: str
    explorer: str | None = Field(description="URL of the counterexample in the explorer")
    cypher: str | None = Field(description="a Cypher statement that shows the counterexample")


class RecordResource(BaseModel):
    """The best known solution of a problem on a topology."""

    id: str
    problem: str
    topology: str
    arguments: dict[str, int]
    value: int
    bound: int = Field(
        description="proved bound on the value: no solution has a better value than this bound"
    )
    optimal: bool
    proof: str = Field(
        description="evidence for the bound, such as `LRAT, not made again` for an LRAT "
        "proof that was not regenerated"
    )
    reason: str = Field(description="explanation of why no better value than the bound exists")
    seconds: float = Field(description="total time of all searches, in seconds")
    solver: str
    version: str
    command: str = Field(description="the command that repeats the search")
    explorer: str | None = Field(description="URL of the witness in the explorer")
    url: str


class SearchAttempt(BaseModel):
    """A search for a record: it found a witness, proved that none exists, or ended undecided."""

    method: str
    target: int = Field(description="value that the search had to reach or to prove impossible")
    result: Literal["witness", "none", "open"]
    seconds: float


class RecordDetail(RecordResource):
    """A record with all its details."""

    statement: str | None = Field(
        description="proved statement that implies the bound, such as `no one-port broadcast in 4 "
        "rounds`; null without a proof"
    )
    checker: str | None = Field(
        description="the programs that accepted the proof, according to the record file"
    )
    proof_command: str | None = Field(description="the command that regenerates the proof")
    searches: list[SearchAttempt]
    witness: dict[str, str] = Field(
        description="URLs of the arrays that describe the solution (witness), by array name"
    )


class StoreHealth(BaseModel):
    """The state of PostgreSQL or Neo4j."""

    available: bool
    version: str | None
    detail: str
    hint: str


class Limits(BaseModel):
    """The limits on requests: maximum counts of nodes and rows, and maximum durations."""

    nodes: int
    rows: int
    listed_rows: int
    answer_rows: int
    computation_seconds: float
    query_seconds: float


class Health(BaseModel):
    """The state of the web server and its stores, and the limits on requests."""

    version: str
    postgres: StoreHealth
    neo4j: StoreHealth
    plugins: list[str]
    limits: Limits
