"""What an ingest would store, how much that is, and what is refused before anything is built."""

import pytest

from starcast.collectives import schedule
from starcast.collectives.catalogue import algorithms_on
from starcast.collectives.model import COLLECTIVES
from starcast.errors import InputError, LimitError, StarcastError
from starcast.ingest.load_methods import (
    MOST_BY_IMPORT,
    MOST_OVER_BOLT,
    Estimate,
    LoadMethod,
    choose,
    duration,
)
from starcast.ingest.planning import Size, plan, wish
from starcast.topologies import topology
from starcast.topologies.star import Star
from starcast.trees import Forest, constructions, forest, plain_constructions
from starcast.trees.spec_syntax import parsed


def names(*words: object, **options: object) -> list[str]:
    """The names of what a plan stores."""
    return [thing.key for thing in plan(*words, **options).things]  # type: ignore[arg-type]


def test_a_topology_alone() -> None:
    """Without trees and schedules."""
    assert names("S4") == ["S4"]


def test_all_trees_and_all_schedules() -> None:
    """All constructions that need nothing but a root, and every algorithm, each after what it depends on."""
    assert names("S5", "all", "all") == [
        "S5",
        *[f"S5:{construction}:12345" for construction in plain_constructions("S5")],
        *[schedule("S5", rule.collective, rule.name).id for rule in algorithms_on(topology("S5"))],
    ]


@pytest.mark.parametrize(
    ("spec", "root", "trees"),
    [
        ("S5,2", "12", ["nk-greedy", "nk-multiple"]),
        ("Q4", "0000", ["binomial", "edge-disjoint-binomial"]),
    ],
)
def test_all_of_another_family_is_what_is_defined_there(
    spec: str, root: str, trees: list[str]
) -> None:
    """Neither the trees nor the schedules of stars."""
    assert {f"{spec}:{name}:{root}" for name in trees} <= set(names(spec, "all", "all"))
    stars = ("greedy", "multiple", "recursive-substar")
    assert not {f"{spec}:{name}:{root}" for name in stars} & set(names(spec, "all", "all"))


@pytest.mark.parametrize("words", ["multiple", "broadcast:greedy", "recursive-substar"])
def test_a_schedule_that_is_not_defined_there_is_refused(words: str) -> None:
    """The algorithm and the topology are named."""
    with pytest.raises(InputError, match=rf"{words.rpartition(':')[2]} is not defined on Q4"):
        plan("Q4", schedules=words)


@pytest.mark.parametrize(
    "words",
    ["multiple", "broadcast:multiple", ["multiple", "broadcast:multiple"], " multiple , multiple"],
)
def test_a_schedule_brings_its_trees_and_counts_once(words: str | list[str]) -> None:
    """However it is written, and however often."""
    assert names("S4", schedules=words) == [
        "S4",
        "S4:multiple:1234",
        "S4:broadcast:multiple:all:segments=1:1234",
    ]


def test_all_algorithms_of_a_collective() -> None:
    """Of one, and of every one."""
    of_each = [set(names("S4", schedules=f"{collective}:all")) for collective in COLLECTIVES]
    assert set.union(*of_each) == set(names("S4", schedules="all"))
    assert sum(len(found) for found in of_each) > len(set.union(*of_each))  # several share a forest


def test_arguments_stand_in_parentheses() -> None:
    """Each schedule has its own; what is not said is the algorithm's default, or what is given for all."""
    words = "alltoall:exact(messages=2),allgather:dimension-change(base=necklace),edge-disjoint(copies=3),exact"
    assert names("S4", schedules=words, messages=5)[1:] == [
        "S4:edge-disjoint:1234",
        "S4:alltoall:exact:all:messages=2:1234",
        "S4:allgather:dimension-change:all:base=necklace:1234",
        "S4:broadcast:edge-disjoint:all:copies=3,messages=5:1234",
        "S4:alltoall:exact:all:messages=5:1234",
    ]


@pytest.mark.parametrize(
    ("words", "options", "named"),
    [
        ("necklace", {}, "several collectives"),
        ("one-port", {}, "several collectives"),
        ("exact(messages=0)", {}, "messages is 0"),
        ("exact(segments=2)", {}, "no argument 'segments'"),
        ("exact", {"ports": "one"}, "no port model 'one'"),
        ("edge-disjoint(copies=4)", {}, "copies is 4"),
        ("scatter:perfectly-balanced", {"messages": 4}, "multiple of n-1 = 3"),
        ("allgather:dimension-change(base=multiple)", {}, "no single spanning tree"),
        ("all(messages=2)", {}, "takes no arguments"),
    ],
)
def test_a_named_schedule_that_cannot_be_is_refused(
    words: str, options: dict[str, object], named: str
) -> None:
    with pytest.raises(InputError, match=named):
        plan("S4", schedules=words, **options)  # type: ignore[arg-type]


def test_what_all_covers_and_cannot_be_is_left_out_and_said() -> None:
    """Messages that are no multiple of n-1, a port model that an algorithm has not; all others are there."""
    what = plan("S4", schedules="scatter:all", messages=4)
    assert not any("perfectly-balanced" in thing.key for thing in what.things)
    assert ["scatter by perfectly-balanced" in reason for reason in what.left_out] == [True]
    one_port = plan("S4", schedules="scatter:all", ports="one")
    assert [thing.key for thing in one_port.things if thing.kind == "schedule"] == [
        "S4:scatter:one-port:one:messages=1:1234"
    ]
    assert len(one_port.left_out) == 4


def test_counting_does_not_grow_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor any array over all nodes: the rows of every algorithm are known at once, also on S12."""

    def nothing(*_: object) -> None:
        raise AssertionError("an array was built")

    for name in ("neighbours", "distances", "translation"):
        monkeypatch.setattr(Star, name, nothing)
    monkeypatch.setattr(Forest, "__post_init__", nothing)
    where = topology("S12")
    for rule in algorithms_on(where):
        for ports in rule.ports:
            assert rule.count(where, ports, rule.resolve_arguments(where, {})) >= where.nodes - 1


def test_root_ports_and_numbers_are_in_the_names() -> None:
    """Both port models; segments where the message is cut, messages where a stream is sent."""
    found = names(
        "S4",
        "greedy",
        "greedy,recursive-substar",
        root="4321",
        ports="both",
        segments=3,
        messages=2,
    )
    assert found == [
        "S4",
        "S4:greedy:4321",
        "S4:recursive-substar:4321",
        "S4:broadcast:greedy:all:segments=3:4321",
        "S4:broadcast:greedy:one:segments=3:4321",
        "S4:broadcast:recursive-substar:all:messages=2:4321",
        "S4:broadcast:recursive-substar:one:messages=2:4321",
    ]


@pytest.mark.parametrize("share", [1, 3])
def test_sizes_are_known_before_anything_is_built(share: int) -> None:
    """And they are those of what is built then."""
    what = plan(
        "S5",
        "multiple",
        "greedy,multiple,recursive-substar",
        root=7,
        ports="both",
        segments=share,
        messages=share,
    )
    for thing in what.things:
        built = thing.build()
        assert (built.content.nodes, built.content.relationships) == (
            thing.nodes,
            thing.relationships,
        )
        assert built.owner.key == thing.key
    nodes, relationships = 120, 240 + 6 * 119 + 2 * 6 * 119 * share
    assert (what.estimate.nodes, what.estimate.relationships) == (nodes, relationships)
    assert len(schedule("S5", "broadcast", "multiple", segments=share)) == 4 * 119 * share


@pytest.mark.parametrize("spec", ["S2", "S3", "S5", "S7", "S5,2", "S4,3", "S4,1", "Q4"])
def test_sizes_are_those_of_the_trees_without_building_any(spec: str) -> None:
    """Every construction, whole or partial, changed or not; names and order are the plan's too."""
    changed = [name for name in ("label-change", "dimension-change") if name in constructions(spec)]
    arguments = {"label-change": "base={}", "dimension-change": "base={},i=0"}
    words = [
        f"{name}({arguments[name].format(tree)})"
        for name in changed
        for tree in plain_constructions(spec)
    ]
    asked = (spec, ["all", *words], "all")
    sizes = [
        Size(thing.kind, thing.key, thing.nodes, thing.relationships)
        for thing in plan(*asked).things
    ]
    assert wish(*asked).sizes() == sizes


@pytest.mark.parametrize("words", ["greedi", "dimension-change(base=greedy,i=4)", "dimension-change(base=greedy)",
                                   "dimension-change(base=binomial,i=1)", "greedy(i=1)", "binomial"])  # fmt: skip
def test_sizes_of_trees_that_cannot_be_are_refused_in_the_words_of_the_plan(words: str) -> None:
    with pytest.raises(InputError) as of_sizes:
        wish("S5", words).sizes()
    name, arguments = parsed(words)
    with pytest.raises(InputError) as of_trees:
        forest("S5", name, **arguments)
    assert str(of_sizes.value) == str(of_trees.value)


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (("S0",), {}),
        (("S13",), {}),
        (("S5,9",), {}),
        (("T4",), {}),
        (("S5", "no-such-tree"), {}),
        (("S5", "all,no-such-tree"), {}),
        (("S5",), {"schedules": "no-such-algorithm"}),
        (("S5",), {"schedules": "no-such-collective:all"}),
        (("S5",), {"schedules": "no-such-collective:multiple"}),
        (("S5", "all"), {"root": "1234"}),
        (("S5", "all"), {"root": "11345"}),
        (("S5",), {"root": "12346"}),
        (("S5",), {"root": 120}),
        (("S5",), {"segments": 0}),
        (("S5", "all", "all"), {"segments": -1}),
        (("S5",), {"messages": 0}),
        (("S5",), {"ports": "two"}),
    ],
    ids=str,
)
def test_bad_input_is_refused(words: tuple[str, ...], options: dict[str, object]) -> None:
    """One sentence and what to do, whether or not what is wrong would have been used."""
    with pytest.raises(InputError) as caught:
        names(*words, **options)
    assert "\n" not in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("spec", ["S10", "S11", "S12"])
def test_what_is_too_large_for_any_way_is_refused_with_figures(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any array is asked for."""

    def nothing(*_: object) -> None:
        raise AssertionError("an array was built")

    for name in ("neighbours", "distances", "translation"):
        monkeypatch.setattr(Star, name, nothing)
    monkeypatch.setattr(Forest, "__post_init__", nothing)
    with pytest.raises(LimitError) as caught:
        plan(spec, "all", "all")
    message = caught.value.message
    sizes = wish(spec, "all", "all").sizes()
    assert sizes[0].relationships == Star(int(spec[1:])).links
    assert f"{sum(one.relationships for one in sizes):,} relationships" in message
    assert "GB on the disk" in message
    assert f"{MOST_BY_IMPORT:,}" in message
    assert "smaller topology" in caught.value.hint


def test_too_many_segments_are_refused() -> None:
    """A small topology can be too much as well."""
    assert plan("S6", "all", "all").things
    with pytest.raises(LimitError, match="by offline import"):
        plan("S6", schedules="multiple", segments=50_000)


def test_only_what_is_asked_of_a_wish_is_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of a wish may be stored already."""
    wanted = wish("S5", "greedy,multiple", "recursive-substar")
    whole = wanted.plan()
    assert [thing.key for thing in whole.things] == [size.key for size in wanted.sizes()]
    assert whole.sizes() == wanted.sizes()
    keys = {"S5:multiple:12345"}
    assert [thing.key for thing in whole.plan(keys).things] == ["S5:multiple:12345"]
    grown: list[str] = []
    made = Forest.__post_init__

    def counted(one: Forest) -> None:
        made(one)
        grown.append(one.id)

    monkeypatch.setattr(Forest, "__post_init__", counted)
    assert [thing.key for thing in wanted.plan(keys).things] == ["S5:multiple:12345"]
    assert set(grown) == keys


SMALL, NINE, TEN = (
    wish(*words).sizes() for words in (("S6", "all", "all"), ("S9", "multiple"), ("S10",))
)


@pytest.mark.parametrize(
    ("asked", "new", "embedded", "taken"),
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
def test_the_way_in_is_chosen_by_what_it_takes(
    asked: LoadMethod, new: list[Size], embedded: bool, taken: LoadMethod
) -> None:
    """The faster one that the server allows, unless one is asked for; the reason has the rows and the time of it."""
    choice = choose(asked, new, [], embedded=embedded)
    size = Estimate.of(new)
    assert choice.way is taken
    assert f"{size.rows:,}" in choice.reason
    assert (
        duration(size.import_seconds if taken is LoadMethod.IMPORT else size.seconds)
        in choice.reason
    )
    if asked is LoadMethod.AUTO and embedded:
        assert (size.import_seconds < size.seconds) == (taken is LoadMethod.IMPORT)


def test_what_is_stored_counts_for_an_import_only() -> None:
    """It has to be imported again: so much of it that Bolt is faster, or that it is too much."""
    assert choose(LoadMethod.AUTO, NINE, [], embedded=True).way is LoadMethod.IMPORT
    assert choose(LoadMethod.AUTO, NINE, TEN * 2, embedded=True).way is LoadMethod.BOLT
    assert (
        choose(LoadMethod.IMPORT, NINE, TEN, embedded=True).everything.rows
        == Estimate.of([*NINE, *TEN]).rows
    )
    with pytest.raises(LimitError, match="with what is stored already"):
        choose(LoadMethod.IMPORT, NINE, TEN * 3, embedded=True)


def test_too_much_for_a_foreign_server_is_a_limit_with_the_way_out() -> None:
    """Its figures over Bolt, and `starcast export`; an import into it is bad input, with the same hint."""
    with pytest.raises(LimitError, match="over Bolt") as limit:
        choose(LoadMethod.AUTO, TEN, [], embedded=False)
    assert f"{MOST_OVER_BOLT:,} rows" in limit.value.message
    assert "'starcast export'" in limit.value.hint
    with pytest.raises(InputError, match="not starcast's own") as refused:
        choose(LoadMethod.IMPORT, SMALL, [], embedded=False)
    assert "'starcast export'" in refused.value.hint
    with pytest.raises(LimitError) as own:
        choose(LoadMethod.BOLT, TEN, [], embedded=True)
    assert "leave out --method bolt" in own.value.hint


def test_the_largest_over_bolt_is_s9_with_tseng_and_sheu_s_trees_and_by_import_s10_with_them() -> (
    None
):
    """The thresholds' reasons."""
    assert plan("S9", "greedy,multiple").estimate.rows < MOST_OVER_BOLT
    ten = wish("S10", "multiple").sizes()
    assert Estimate.of(ten).rows < MOST_BY_IMPORT
    assert Estimate.of(wish("S10", "all").sizes()).rows > MOST_BY_IMPORT


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (119, "119 s"), (600, "10 min"), (90_000, "25 h")]
)
def test_durations_are_told_in_a_fitting_unit(seconds: float, words: str) -> None:
    """Seconds, minutes or hours."""
    assert duration(seconds) == words


def test_every_refusal_is_ours() -> None:
    """A root that is no string and no number, too."""
    with pytest.raises(StarcastError):
        plan("S5", "all", root=True)
