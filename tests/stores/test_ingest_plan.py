"""Ingest plans: artifacts, sizes, and requests refused before anything is built."""

import pytest

from starcast.collectives import schedule
from starcast.collectives.algorithm import algorithms_on
from starcast.collectives.model import COLLECTIVES
from starcast.ingest.artifacts import Artifact, forest_artifact
from starcast.ingest.planning import (
    BOLT_ROW_LIMIT,
    IMPORT_ROW_LIMIT,
    Estimate,
    choose_deletion,
    choose_method,
    parse_request,
)
from starcast.support.errors import InputError, LimitError
from starcast.support.text import format_duration
from starcast.support.vocabulary import LoadMethod, parse_spec, split_specs
from starcast.topologies import topology
from starcast.topologies.stars import Star
from starcast.trees import Forest, constructions, forest, plain_constructions
from support.plans import plan


def plan_ids(*words: object, **options: object) -> list[str]:
    """Return the ids of the artifacts in a plan."""
    return [artifact.id for artifact in plan(*words, **options).artifacts]


@pytest.mark.parametrize(("spec", "root"), [("S5", "12345"), ("S5,2", "12"), ("Q4", "0000")])
def test_the_word_all_selects_constructions_without_arguments_and_all_algorithms(
    spec: str, root: str
) -> None:
    """The plan has all constructions without arguments and all algorithms, in build order."""
    assert plan_ids(spec, "all", "all") == [
        spec,
        *[f"{spec}:{construction}:{root}" for construction in plain_constructions(spec)],
        *[
            schedule(spec, algorithm.collective, algorithm.name).id
            for algorithm in algorithms_on(topology(spec))
        ],
    ]


@pytest.mark.parametrize("name", ["a/b", "..", "a.csv", "ü", "a\u202eb", "a\u200bb", "\ud800", "A"])
def test_a_forest_with_a_name_that_cannot_be_stored_is_refused(name: str) -> None:
    """PostgreSQL would refuse the name too, but only after the topology was stored."""
    own = Forest(topology("S4"), forest("S4", "greedy").parent_port, construction=name)
    with pytest.raises(InputError, match="cannot be stored under the name") as refusal:
        parse_request("S4", forests=[own])
    assert repr(name) in refusal.value.message


def test_a_construction_is_planned_once_if_its_arguments_come_in_different_orders() -> None:
    """The id of the forest lists the arguments in a fixed order."""
    text = (
        "greedy, dimension-change(base=multiple,i=2),dimension-change(i=2,base=multiple),"
        "label-change(base=greedy)"
    )
    ids = [
        "S4",
        "S4:greedy:1234",
        "S4:dimension-change(base=multiple,i=2):1234",
        "S4:label-change(base=greedy):1234",
    ]
    assert plan_ids("S4", text) == plan_ids("S4", ["greedy", *split_specs(text)]) == ids


@pytest.mark.parametrize(
    "words",
    ["multiple", "broadcast:multiple", ["multiple", "broadcast:multiple"], " multiple , multiple"],
)
def test_a_schedule_and_its_forest_are_planned_once(words: str | list[str]) -> None:
    """The request may name a schedule in any spelling, and any number of times."""
    assert plan_ids("S4", schedules=words) == [
        "S4",
        "S4:multiple:1234",
        "S4:broadcast:multiple:all:segments=1:1234",
    ]


def test_the_word_all_after_a_collective_selects_its_algorithms() -> None:
    """`collective:all` selects the algorithms of one collective, `all` those of all collectives."""
    of_each = [set(plan_ids("S4", schedules=f"{collective}:all")) for collective in COLLECTIVES]
    every = set(plan_ids("S4", schedules="all"))
    assert set.union(*of_each) == every
    assert sum(map(len, of_each)) > len(every)  # schedules of several collectives share a forest


def test_arguments_in_parentheses_apply_to_one_schedule() -> None:
    """A schedule's own arguments take precedence over common arguments, then over defaults."""
    words = (
        "alltoall:exact(messages=2),allgather:dimension-change(base=necklace),"
        "edge-disjoint(copies=3),exact"
    )
    assert plan_ids("S4", schedules=words, messages=5)[1:] == [
        "S4:edge-disjoint:1234",
        "S4:alltoall:exact:all:messages=2:1234",
        "S4:allgather:dimension-change:all:base=necklace:1234",
        "S4:broadcast:edge-disjoint:all:copies=3,messages=5:1234",
        "S4:alltoall:exact:all:messages=5:1234",
    ]


@pytest.mark.parametrize(
    ("words", "options", "named"),
    [
        ("binomial", {}, "binomial is not defined on S4"),
        ("broadcast:nk-greedy", {}, "nk-greedy is not defined on S4"),
        ("necklace", {}, "several collectives"),
        ("one-port", {}, "several collectives"),
        ("exact(messages=0)", {}, "messages is 0"),
        ("exact(segments=2)", {}, "no argument 'segments'"),
        ("exact", {"ports": "one"}, "no port model 'one'"),
        ("edge-disjoint(copies=4)", {}, "copies is 4"),
        ("scatter:perfectly-balanced", {"messages": 4}, "multiple of n-1 = 3"),
        ("allgather:dimension-change(base=multiple)", {}, "not a single spanning tree"),
        ("all(messages=2)", {}, "takes no arguments"),
    ],
)
def test_a_request_that_names_an_impossible_schedule_is_refused(
    words: str, options: dict[str, object], named: str
) -> None:
    with pytest.raises(InputError, match=named):
        plan("S4", schedules=words, **options)


def test_the_selection_all_skips_impossible_schedules() -> None:
    """A schedule may require a multiple of n-1 messages, or not support the port model."""
    chosen_plan = plan("S4", schedules="scatter:all", messages=4)
    assert not any("perfectly-balanced" in artifact.id for artifact in chosen_plan.artifacts)
    assert ["scatter by perfectly-balanced" in reason for reason in chosen_plan.skipped] == [True]
    one_port = plan("S4", schedules="scatter:all", ports="one")
    assert [artifact.id for artifact in one_port.artifacts if artifact.kind == "schedule"] == [
        "S4:scatter:one-port:one:messages=1:1234",
        "S4:scatter:greedy:one:messages=1,seed=0:1234",
    ]
    assert len(one_port.skipped) == 4


def test_the_selection_all_skips_very_large_schedules() -> None:
    """The greedy alltoall on S6 has a row for every hop of the paths between all 720 nodes."""
    chosen_plan = plan("S6", schedules="alltoall:all")
    assert not any("greedy" in artifact.id for artifact in chosen_plan.artifacts)
    rows = 720 * topology("S6").distance_sum
    assert chosen_plan.skipped == (
        f"'all' omits alltoall by greedy, whose schedule has {rows:,} rows",
    )
    assert plan("S6", schedules="alltoall:greedy").artifacts[-1].id.startswith("S6:alltoall:greedy")


@pytest.fixture
def _no_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if an array over the nodes of a star graph, or a forest, is built."""

    def nothing(*_: object) -> None:
        raise AssertionError("an array was built")

    for name in ("neighbours", "distances", "translation"):
        monkeypatch.setattr(Star, name, nothing)
    monkeypatch.setattr(Forest, "__post_init__", nothing)


def test_ids_contain_the_root_the_ports_and_the_segments_or_messages() -> None:
    """A schedule id states the number of segments or messages, whichever the algorithm accepts."""
    options = {"root": "4321", "ports": "both", "segments": 3, "messages": 2}
    assert plan_ids("S4", "greedy", "greedy,recursive-substar", **options) == [
        "S4",
        "S4:greedy:4321",
        "S4:recursive-substar:4321",
        "S4:broadcast:greedy:all:segments=3:4321",
        "S4:broadcast:greedy:one:segments=3:4321",
        "S4:broadcast:recursive-substar:all:messages=2:4321",
        "S4:broadcast:recursive-substar:one:messages=2:4321",
    ]


@pytest.mark.parametrize("spec", ["S2", "S3", "S5", "S7", "S5,2", "S4,3", "S4,1", "Q4"])
def test_forest_sizes_are_known_without_building(spec: str) -> None:
    """The planned id and number of rows equal those of the built forest."""
    changed = [name for name in ("label-change", "dimension-change") if name in constructions(spec)]
    arguments = {"label-change": "base={}", "dimension-change": "base={},i=0"}
    words = [
        f"{name}({arguments[name].format(tree)})"
        for name in changed
        for tree in plain_constructions(spec)
    ]
    forests = [each for each in plan(spec, ["all", *words]).artifacts if each.kind == "forest"]
    assert len(forests) == len(words) + len(plain_constructions(spec))
    for artifact in forests:
        built = forest_artifact(artifact.structure())  # type: ignore[arg-type]
        assert (built.id, built.rows) == (artifact.id, artifact.rows)


@pytest.mark.parametrize(
    "words",
    [
        "greedi",
        "dimension-change(base=greedy,i=4)",
        "dimension-change(base=greedy)",
        "dimension-change(base=binomial,i=1)",
        "greedy(i=1)",
        "binomial",
    ],
)
def test_planning_an_invalid_forest_raises_the_same_error_as_building_it(words: str) -> None:
    with pytest.raises(InputError) as of_sizes:
        plan("S5", words)
    name, arguments = parse_spec(words)
    with pytest.raises(InputError) as of_trees:
        forest("S5", name, **arguments)
    assert str(of_sizes.value) == str(of_trees.value)


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (("S0",), {}),
        (("S5", "no-such-tree"), {}),
        (("S5", "all,no-such-tree"), {}),
        (("S4", "greedy,dimension-change(base=multiple,i=2"), {}),
        (("S4", "greedy,dimension-change(base=multiple,i=two)"), {}),
        (("S4", "greedy,label-change(base=dimension-change)"), {}),
        (("S4", "greedy()x"), {}),
        (("S5",), {"schedules": "no-such-algorithm"}),
        (("S5",), {"schedules": "no-such-collective:all"}),
        (("S5",), {"schedules": "no-such-collective:multiple"}),
        (("S5", "all"), {"root": "1234"}),
        (("S5", "all"), {"root": "11345"}),
        (("S5",), {"root": "12346"}),
        (("S5",), {"root": 120}),
        (("S5", "all"), {"root": True}),
        (("S5",), {"segments": 0}),
        (("S5", "all", "all"), {"segments": -1}),
        (("S5",), {"messages": 0}),
        (("S5",), {"ports": "two"}),
    ],
    ids=str,
)
def test_invalid_requests_are_refused(words: tuple[str, ...], options: dict[str, object]) -> None:
    """The error is one line with a hint, even if the invalid value would not be used."""
    with pytest.raises(InputError) as caught:
        plan_ids(*words, **options)
    assert "\n" not in caught.value.message
    assert caught.value.hint


@pytest.mark.usefixtures("_no_arrays")
@pytest.mark.parametrize("spec", ["S10", "S11", "S12"])
def test_requests_beyond_all_limits_are_refused_with_their_sizes(spec: str) -> None:
    """Requests for both port models are refused before any array is created."""
    sizes = plan(spec, "all", "all", ports="both").artifacts
    assert all(2 * size.rows > sizes[0].nodes for size in sizes)
    with pytest.raises(LimitError) as caught:
        choose_method(LoadMethod.IMPORT, sizes, [], embedded=True)
    message = caught.value.message
    assert sizes[0].relationships == Star(int(spec[1:])).links
    assert f"{sum(one.relationships for one in sizes):,} relationships" in message
    assert "GB of temporary disk space" in message
    assert f"{IMPORT_ROW_LIMIT:,}" in message
    assert "smaller topology" in caught.value.hint


SMALL, NINE, TEN = (
    plan(*words).artifacts for words in (("S5", "all", "all"), ("S9", "multiple"), ("S10",))
)


@pytest.mark.parametrize(
    ("requested", "new", "embedded", "expected"),
    [
        (LoadMethod.AUTO, SMALL, True, LoadMethod.BOLT),
        (LoadMethod.AUTO, NINE, True, LoadMethod.IMPORT),
        (LoadMethod.AUTO, TEN, True, LoadMethod.IMPORT),
        (LoadMethod.AUTO, SMALL, False, LoadMethod.BOLT),
        (LoadMethod.AUTO, NINE, False, LoadMethod.BOLT),
        (LoadMethod.BOLT, NINE, True, LoadMethod.BOLT),
        (LoadMethod.IMPORT, SMALL, True, LoadMethod.IMPORT),
    ],
)
def test_the_faster_load_method_is_chosen(
    requested: LoadMethod, new: list[Artifact], embedded: bool, expected: LoadMethod
) -> None:
    """A requested method takes precedence. The reason states the number of rows and the time."""
    choice = choose_method(requested, new, [], embedded=embedded)
    size = Estimate.of(new)
    assert choice.method is expected
    assert f"{size.rows:,}" in choice.reason
    assert (
        format_duration(size.import_seconds if expected is LoadMethod.IMPORT else size.seconds)
        in choice.reason
    )
    if requested is LoadMethod.AUTO and embedded:
        assert (size.import_seconds < size.seconds) == (expected is LoadMethod.IMPORT)


def test_the_estimate_over_bolt_allows_for_a_server_that_has_just_started() -> None:
    """The additional time is bounded. The message states both the usual and the longer time."""
    seven = plan("S7", "multiple").artifacts
    size = Estimate.of(seven)
    assert 3 * size.seconds < size.cold_seconds < size.seconds + 6
    assert Estimate.of(TEN).cold_seconds - Estimate.of(TEN).seconds < 10
    reason = choose_method(LoadMethod.AUTO, seven, [], embedded=False).reason
    assert reason == "over Bolt: 50,394 rows in about 1 s, or 7 s if Neo4j has just started"


def test_the_estimate_of_an_offline_import_includes_stored_artifacts() -> None:
    """An import writes all stored artifacts again, so it can be slower than Bolt or too large."""
    assert choose_method(LoadMethod.AUTO, NINE, TEN * 2, embedded=True).method is LoadMethod.BOLT
    reasons = [
        choose_method(LoadMethod.BOLT, new, [], embedded=True).reason
        for new in (plan("S4", "multiple").artifacts, NINE)
    ]
    assert ["offline import" in reason for reason in reasons] == [False, True]
    rows = f"{Estimate.of([*NINE, *TEN]).rows:,} rows"
    assert f"all {rows}" in choose_method(LoadMethod.IMPORT, NINE, TEN, embedded=True).reason
    with pytest.raises(LimitError, match="including all stored artifacts"):
        choose_method(LoadMethod.IMPORT, NINE, TEN * 3, embedded=True)


@pytest.mark.parametrize(
    ("requested", "dropped", "remaining", "embedded", "expected"),
    [
        (LoadMethod.AUTO, SMALL, NINE, True, LoadMethod.BOLT),
        (LoadMethod.AUTO, TEN, [], True, LoadMethod.IMPORT),
        (LoadMethod.AUTO, TEN, NINE, True, LoadMethod.IMPORT),
        (LoadMethod.AUTO, NINE, TEN, True, LoadMethod.BOLT),
        (LoadMethod.AUTO, TEN, NINE, False, LoadMethod.BOLT),
        (LoadMethod.BOLT, TEN, NINE, True, LoadMethod.BOLT),
        (LoadMethod.IMPORT, SMALL, NINE, True, LoadMethod.IMPORT),
        (LoadMethod.AUTO, TEN, TEN * 4, True, LoadMethod.BOLT),
    ],
)
def test_the_faster_method_for_dropping_artifacts_is_chosen(
    requested: LoadMethod,
    dropped: list[Artifact],
    remaining: list[Artifact],
    embedded: bool,
    expected: LoadMethod,
) -> None:
    """Artifacts are dropped over Bolt or, within the row limit, by a new import of all others."""
    choice = choose_deletion(requested, dropped, remaining, embedded)
    assert choice.method is expected
    gone, kept = Estimate.of(dropped), Estimate.of(remaining)
    assert f"{gone.rows:,} rows over Bolt" in choice.reason
    assert format_duration(gone.deletion_seconds) in choice.reason
    # An import that is not chosen is mentioned only if it is faster.
    is_faster = embedded and kept.import_seconds < gone.deletion_seconds
    is_mentioned = expected is LoadMethod.IMPORT or is_faster
    assert ("import" in choice.reason) == is_mentioned
    assert not is_mentioned or format_duration(kept.import_seconds) in choice.reason


def test_dropping_by_an_impossible_import_is_refused() -> None:
    """An import needs the embedded Neo4j and a number of rows within the limit."""
    with pytest.raises(InputError, match="only with the embedded Neo4j"):
        choose_deletion(LoadMethod.IMPORT, TEN, [], embedded=False)
    with pytest.raises(LimitError, match="for an offline import"):
        choose_deletion(LoadMethod.IMPORT, SMALL, TEN * 4, embedded=True)


def test_a_server_run_by_the_user_has_a_row_limit_and_no_import() -> None:
    """Too many rows over Bolt raise LimitError, and a requested import raises InputError."""
    many = plan("S10", "multiple").artifacts
    with pytest.raises(LimitError, match="over Bolt") as limit:
        choose_method(LoadMethod.AUTO, many, [], embedded=False)
    assert f"{BOLT_ROW_LIMIT:,} rows" in limit.value.message
    assert limit.value.hint.startswith("choose a smaller topology")
    with pytest.raises(InputError, match="only with the embedded Neo4j") as refused:
        choose_method(LoadMethod.IMPORT, SMALL, [], embedded=False)
    assert "omit `method`" in refused.value.hint
    with pytest.raises(LimitError) as own:
        choose_method(LoadMethod.BOLT, many, [], embedded=True)
    assert own.value.hint.startswith("omit `method`")


def test_the_row_limits_allow_s10_and_its_forest_multiple() -> None:
    """S10 can be loaded over Bolt, and its forest `multiple` by an offline import."""
    assert Estimate.of(TEN).rows < BOLT_ROW_LIMIT
    ten = plan("S10", "multiple").artifacts
    assert Estimate.of(ten).rows < IMPORT_ROW_LIMIT
    assert Estimate.of(plan("S10", "all").artifacts).rows > IMPORT_ROW_LIMIT


def test_durations_have_a_suitable_unit() -> None:
    """A duration is printed in seconds, minutes or hours."""
    seconds = (0.4, 119, 600, 90_000)
    assert [*map(format_duration, seconds)] == ["0 s", "119 s", "10 min", "25 h"]
