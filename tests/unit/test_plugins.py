"""Plug-ins: the use of what they declare, and the errors for invalid declarations and results."""

import hashlib
import os
import pickle
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from starcast_papers.common import lower_bound_counts as counts

import starcast
from starcast import forest, schedule, simulate, topology
from starcast.catalogue import plugins
from starcast.catalogue.plugin_files import hash_plugin
from starcast.catalogue.plugins import ORIGINS
from starcast.claims.catalogue import load as load_pack
from starcast.collectives.algorithm import algorithms_on
from starcast.costs import Machine
from starcast.costs.tables import CostProblem, build_table, execute_row
from starcast.drawing import draw_forest
from starcast.experiments.design import Grid
from starcast.experiments.execution import execute
from starcast.formats import render
from starcast.lab import Lab
from starcast.support.errors import RejectedError
from starcast.support.settings import Settings
from starcast.topologies import Topology
from starcast.topologies.disjoint_paths import find_disjoint_paths
from starcast.trees.construction import CONSTRUCTIONS, constructions, single_trees
from support.fix_plugins import load_examples
from support.meeting import refused
from support.plans import plan
from support.workers import run_program

pytestmark = pytest.mark.usefixtures("registries")

#: Source text of plug-ins named f, without the body of the function.
BODIES = {
    "construction": "@starcast.construction('f', source='x')\ndef f(topology, root): ",
    "algorithm": "@starcast.algorithm('gather', 'f', source='x')\ndef f(topology, root, ports): ",
    "family": "@starcast.family('f', pattern=r'F(\\d+)', source='x')\ndef f(n): ",
}
#: For each kind of plug-in in `BODIES`, a function that uses it.
BUILDS: dict[str, Callable[[], object]] = {
    "construction": lambda: forest("S4", "f"),
    "algorithm": lambda: schedule("S4", "gather", "f"),
    "family": lambda: topology("F4"),
}
NOT_A_VALUE = "the parameter 'x' of 'f' is not declared correctly as an int or a str"


@pytest.mark.parametrize("spec", ["R4", "R5", "S4", "S5,2", "Q3", "AG4"])
@pytest.mark.parametrize("collective", ["broadcast", "allgather", "scatter", "gather"])
@pytest.mark.parametrize("ports", ["all", "one"])
def test_collectives_along_trees_of_an_example_plug_in_are_complete(
    spec: str, collective: str, ports: str
) -> None:
    load_examples()
    assert "highest-ports" in constructions(spec)
    built = forest(spec, "highest-ports", root=5)
    built.verify()
    assert built.heights.tolist() == [topology(spec).diameter]
    result = simulate(schedule(spec, collective, "forest", ports=ports, base="highest-ports"))
    assert result.complete
    assert result.violation is None


def test_a_plug_in_algorithm_that_returns_columns_can_be_listed_and_executed(
    load: Callable[[str], None],
) -> None:
    load(
        """
        import numpy as np

        @starcast.algorithm("broadcast", "flood", families=["star"], source="this test")
        def flood(topology, root, ports, segments: int = 1):
            tree = starcast.forest(topology, "greedy", root)
            node = np.repeat(np.flatnonzero(tree.parent_port[0]), segments)
            unit = np.tile(np.arange(segments), topology.nodes - 1)
            return {
                "step": tree.levels()[0][node] + unit,
                "sender": tree.parents()[0][node],
                "port": topology.reverse_ports()[tree.parent_port[0][node]],
                "unit": unit,
            }
        """
    )
    ours = schedule("S5", "broadcast", "flood", root="21345", segments=3)
    greedy = schedule("S5", "broadcast", "greedy", root="21345", segments=3)
    for name, column in ours.columns.present().items():
        assert np.array_equal(column, getattr(greedy, name))
    assert "flood" in {algorithm.name for algorithm in algorithms_on(topology("S5"))}
    machine = Machine(Fraction(100), Fraction(1))
    problem = CostProblem(topology("S5"), "broadcast", "all", Fraction(4096), machine, segments=3)
    rows = {row.name: row for row in build_table(problem)}
    assert rows["flood"].cost is None
    assert "no closed form" in rows["flood"].note
    executed = execute_row(problem, rows["flood"], 10_000)
    assert executed == execute_row(problem, rows["greedy"], 10_000)


def test_arguments_of_a_plug_in_are_checked_and_become_part_of_the_id(
    load: Callable[[str], None],
) -> None:
    load(
        """
        @starcast.construction("mine", families=["star"], source="this test")
        def mine(topology, root, shift: int, mood: str = "calm"):
            assert mood != "angry", "do not shout"
            return starcast.forest(topology, "greedy", root)
        """
    )
    built = forest("S4", "mine", shift=-2)
    assert built.id == "S4:mine(shift=-2):1234"  # the id omits default values
    assert forest("S4", "mine", shift=1, mood="sad").id == "S4:mine(mood=sad,shift=1):1234"
    with refused("needs the argument 'shift'"):
        forest("S4", "mine")
    with refused("shift is '2', not an integer"):
        forest("S4", "mine", shift="2")
    for text in ("a,b", "a:b", "(a)", "12", "-3"):  # ids with these texts could not be parsed
        with refused("which is not a valid word"):
            forest("S4", "mine", shift=1, mood=text)
    with refused("mine.py:3) raised AssertionError: do not shout"):
        forest("S4", "mine", shift=1, mood="angry")
    with refused("defined on star graphs"):
        forest("Q3", "mine", shift=1)


def test_loading_a_plug_in_again_replaces_the_names_that_it_declared(
    load: Callable[[str], None],
) -> None:
    for source in ("first", "second"):
        load(f"@starcast.construction('mine', source='{source}')\ndef mine(topology, root): ...")
        assert CONSTRUCTIONS["mine"].source == source
    assert ORIGINS["construction", "mine"].sha256


@pytest.mark.parametrize(
    ("decorator", "parameters", "sentence"),
    [
        ("construction('greedy', source='x')", "topology, root", "already exists"),
        ("construction('A b', source='x')", "topology, root", "mine.py:2"),
        ("construction('f', source='x')", "root", "be topology, root; its parameters are root"),
        ("construction('f', source='x')", "", "topology, root; its parameters are none"),
        ("construction('f', source='x', families=['a'])", "topology, root", "unknown family 'a'"),
        ("construction('f', source='x')", "topology, root, x", NOT_A_VALUE),
        ("construction('f', source='x')", "topology, root, x: int = 'a'", NOT_A_VALUE),
        ("construction('f', source='x')", "topology, root, *x", NOT_A_VALUE),
        ("algorithm('x', 'f', source='x')", "topology, root, ports", "unknown collective 'x'"),
        ("algorithm('gather', 'f', source='', ports=['two'])", "", "'f' are invalid: ['two']"),
        ("algorithm('gather', 'forest', source='')", "topology, root, ports", "already exists"),
        ("family('star', pattern=r'T(\\d+)', source='x')", "n", "already exists"),
        ("family('t', pattern=r'S(\\d+)', source='x')", "n", "matches 'S1'"),
        ("family('t', pattern=r'T', source='x')", "n", "has no group"),
        ("family('t', pattern=r'T(', source='x')", "n", "is malformed"),
    ],
)
def test_invalid_plug_in_declarations_are_refused(
    load: Callable[[str], None], decorator: str, parameters: str, sentence: str
) -> None:
    with refused("mine.py", sentence):
        load(f"@starcast.{decorator}\ndef f({parameters}): ...")


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        ("None", "returned an array of object"),
        ("[[1, 2]]", "returned an array of int64 [1 x 2] on S4"),
        ("[0.5] * 24", "returned an array of float64"),
        ("[3] * 23 + [-1]", "returned -1, which is not a port"),
        ("[300] * 24", "returned 300, which is not a port"),
        ("[[2] * 24] * 3", "returned an array of int64 [3 x 24]"),
        ("starcast.forest('S5', 'greedy')", "returned an array of uint8 [1 x 120] on S4"),
    ],
)
def test_construction_results_that_are_not_arrays_of_parent_ports_are_refused(
    load: Callable[[str], None], result: str, sentence: str
) -> None:
    load(f"{BODIES['construction']}return {result}")
    with refused(sentence):
        forest("S4", "f")


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        ("5", "the result is of type int, not a schedule"),
        ("{}", "has no column 'step'"),
        ("dict(step=[1], sender=[0], port=[2], unit=[0], time=[1])", "the unknown column 'time'"),
        (
            "dict(step=[1], sender=[0], port=[2], unit=[0], reciever=None)",
            "unknown column 'reciever'",
        ),
        ("dict(step=[1], sender='12', port=[2], unit=[0])", "'sender' of a schedule cannot have 0"),
        ("dict(step=[1], sender=[0], port=[9], unit=[0])", "row 0 of the schedule uses port 9"),
        ("dict(step=[1], sender=[99], port=[2], unit=[0])", "no node of rank 99"),
        ("dict(step=[1, 2], sender=[0], port=[2], unit=[0])", "differ in length"),
        ("dict(step=[1.5], sender=[0], port=[2], unit=[0])", "cannot have dtype float64"),
        ("dict(step=[[1]], sender=[0], port=[2], unit=[0])", "cannot have 2 dimensions"),
    ],
)
def test_algorithm_results_that_are_not_valid_schedule_columns_are_refused(
    load: Callable[[str], None], result: str, sentence: str
) -> None:
    load(f"{BODIES['algorithm']}return {result}")
    with refused("mine.py:2", sentence):
        schedule("S4", "gather", "f")


def test_an_invalid_forest_of_a_plug_in_is_built_and_then_fails_verification(
    load: Callable[[str], None],
) -> None:
    load(f"{BODIES['construction']}return [0] + [2] * 23")
    with pytest.raises(starcast.StarcastError):
        forest("S4", "f").verify()


@pytest.mark.parametrize("name", ["no/such/file.py", "no_such_module_of_anybody"])
def test_plug_ins_that_cannot_be_found_are_refused(name: str) -> None:
    with refused(name):
        plugins.load([name])


def test_claim_verification_ignores_plug_ins() -> None:
    star = topology("S4")
    known = counts.single_trees(star), counts.algorithms_on(star, "broadcast")
    bound = starcast.check("SLC.LB-allport", sizes=["S3"])
    load_examples()

    @starcast.algorithm("broadcast", "none", source="this test")
    def none(topology: Topology, root: int, ports: str, segments: int = 1) -> None:
        """Return None instead of a schedule."""

    assert (counts.single_trees(star), counts.algorithms_on(star, "broadcast")) == known
    assert starcast.check("SLC.LB-allport", sizes=["S3"]) == bound
    assert "highest-ports" in single_trees("S4")
    assert "none" in {algorithm.name for algorithm in algorithms_on(star, "broadcast")}


#: Statements that raise a BaseException, with the class that the message names.
ENDS = {
    "sys.exit(0)": "SystemExit",
    "sys.exit('x')": "SystemExit",
    "raise SystemExit": "SystemExit",
    "raise GeneratorExit": "GeneratorExit",
    "raise BaseException": "BaseException",
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", BODIES)
def test_a_plug_in_that_raises_system_exit_does_not_end_the_command(
    load: Callable[[str], None], kind: str, end: str
) -> None:
    """`GeneratorExit` and `BaseException` do not end the command either."""
    load(f"import sys\n{BODIES[kind]}{end}")
    with refused("mine.py:3) raised ", ENDS[end]):
        BUILDS[kind]()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        *ENDS.items(),
        ("1/0", "ZeroDivisionError"),
        ("import no_such_module", "No module named 'no_such_module'"),
        ("def f(:", "SyntaxError"),
    ],
)
def test_a_plug_in_that_cannot_be_imported_is_refused_and_does_not_end_the_command(
    load: Callable[[str], None], line: str, reason: str
) -> None:
    with refused("the plug-in '", "mine.py' cannot be imported: ", reason):
        load(f"import sys\n{line}")


@pytest.mark.parametrize("kind", BODIES)
def test_ctrl_c_interrupts_a_plug_in(load: Callable[[str], None], kind: str) -> None:
    load(f"{BODIES[kind]}raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        BUILDS[kind]()
    with pytest.raises(KeyboardInterrupt):
        load("raise KeyboardInterrupt")


def test_suggested_commands_name_the_plug_ins_that_the_runs_need() -> None:
    """A module that is neither loaded nor in a package is assumed to be a file."""
    used = [{"a": {"module": "mine_x"}, "b": {"module": "mine_x"}}, {}, {"c": {"module": "p.q"}}]
    expected = "starcast --plugin mine_x.py --plugin p.q run once S4"
    assert plugins.name_plugins("starcast run once S4", used) == expected
    assert plugins.name_plugins("starcast run once S4", [{}]) == "starcast run once S4"


@pytest.mark.parametrize("kind", BODIES)
def test_two_plug_ins_cannot_declare_the_same_name(
    load: Callable[[str], None], tmp_path: Path, kind: str
) -> None:
    load(f"{BODIES[kind]}...")
    load(f"{BODIES[kind].replace('F', 'G')}return [[2, 1]]")
    assert kind != "family" or topology("G2").nodes == 2
    other = tmp_path / "other.py"
    other.write_text(f"import starcast\n{BODIES[kind].replace('F', 'H')}...", encoding="utf-8")
    with refused("other.py:2: the ", "'f' already exists", "mine.py:2"):
        plugins.load([str(other)])


def test_a_family_whose_generators_do_not_reach_all_nodes_is_refused(
    load: Callable[[str], None],
) -> None:
    load("@starcast.family('f', pattern=r'F(\\d+)', source='x')\ndef f(n): return [[2, 1, 3, 4]]")
    for use in (
        lambda: topology("F4").diameter,
        lambda: forest("F4", "breadth-first"),
        plan("F4").artifacts[0].build,
        lambda: find_disjoint_paths(topology("F4"), 0, 1),
    ):
        with refused("the generators of F4 reach only 2 of its 24 nodes"):
            use()


@pytest.mark.parametrize(
    ("pattern", "character"),
    [
        (r"F<(\d+)>", "'<'"),
        (r'F"(\d+)', "'\"'"),
        (r"F&(\d+)", "'&'"),
        (r"F (\d+)", "' '"),
        (r"F:(\d+)", "':'"),
        (r"F\((\d+)\)", "'\\\\('"),
        (r"F\x3c(\d+)", "'\\\\x'"),
        (r"F\n(\d+)", "'\\\\n'"),
        (r"Φ(\d+)", "'Φ'"),
    ],
)
def test_family_patterns_with_characters_that_no_topology_spec_may_contain_are_refused(
    load: Callable[[str], None], pattern: str, character: str
) -> None:
    with refused("mine.py:2: the pattern of the family 'f' contains ", character):
        load(f"@starcast.family('f', pattern=r'''{pattern}''', source='x')\ndef f(n): ...")


@pytest.mark.parametrize(
    "spec", ["V<b>2", "V&2", "V\n2", 'V"2', "V:2", "V2\u0663", "V" + 60 * "x" + "2"]
)
def test_a_topology_spec_with_special_characters_is_refused_even_if_a_pattern_matches_it(
    load: Callable[[str], None], spec: str
) -> None:
    load("@starcast.family('f', pattern=r'V[^a]*?(\\d+)', source='x')\ndef f(n): return [[2, 1]]")
    assert topology("V.x_y-2").spec == "V.x_y-2"
    with refused("unknown topology"):
        topology(spec)


def test_a_forest_id_with_special_characters_is_escaped_in_dot_and_svg(
    load: Callable[[str], None],
) -> None:
    load(
        """
        @starcast.construction("mine", source="this test")
        def mine(topology, root, mood: str):
            return starcast.forest(topology, "greedy", root)
        """
    )
    word = 'a"b\\c<d>&'
    built = forest("S3", "mine", mood=word)
    dot = b"".join(render(built, "dot")).decode()
    assert dot.startswith('digraph "S3:mine(mood=a\\"b\\\\c<d>&):123" {')
    picture = ET.fromstring(draw_forest(built))  # noqa: S314 - our own
    assert word in "".join(picture.itertext())
    with refused("which is not a valid word"):
        forest("S3", "mine", mood="a\x01")


def test_a_schedule_id_with_special_characters_is_escaped_in_msccl_xml(
    load: Callable[[str], None],
) -> None:
    load(OWN_ARGUMENTS)
    plan = schedule("S3", "broadcast", "slow", word='"<&')
    text = b"".join(render(plan, "msccl-xml")).decode()
    algorithm = ET.fromstring(text)  # noqa: S314 - our own
    assert algorithm.attrib["name"] == plan.id


OWN_ARGUMENTS = """
    @starcast.algorithm("broadcast", "slow", source="this test")
    def slow(topology, root, ports, pause: int = 1, word: str = "a"):
        tree = starcast.forest(topology, "greedy", root)
        node = tree.levels()[0].argsort(kind="stable")[1:]
        return {
            "step": pause * (1 + node.argsort().argsort() * 0 + range(len(node))),
            "sender": tree.parents()[0][node],
            "port": topology.reverse_ports()[tree.parent_port[0][node]],
            "unit": 0 * node,
        }
"""


def test_experiment_points_accept_the_arguments_that_a_plug_in_algorithm_declares(
    load: Callable[[str], None],
) -> None:
    load(OWN_ARGUMENTS)
    grid = Grid(
        {
            "topology": "S4",
            "algorithm": ["slow", "slow(pause=1)", "slow(word=b,pause=2)"],
            "message_bytes": "8",
        }
    )
    points = grid.points()
    assert [point.algorithm for point in points] == ["slow", "slow(pause=2,word=b)"]
    simulations = [execute(point).valid_simulation for point in points]
    assert [each and each.steps for each in simulations] == [23, 46]
    assert "'slow(pause=2,word=b)'" in points[1].command()
    with refused("'depth'"):
        Grid({"topology": "S4", "algorithm": "slow(depth=1)", "message_bytes": "8"})


#: An allreduce that has rows for all nodes. By default, starcast expects fewer rows.
RING = """
    @starcast.algorithm("allreduce", "mine", source="this test"{declared})
    def mine(topology, root, ports):
        return starcast.schedule(topology, "allreduce", "ring", ports)
"""


def test_an_algorithm_must_declare_its_number_of_rows_if_the_default_is_wrong(
    load: Callable[[str], None],
) -> None:
    load(RING.format(declared=""))
    with refused(
        "S3:allreduce:mine:all::123 was planned with 5 rows, but ", "with 60 rows", exit_code=6
    ) as refusal:
        plan("S3", schedules="mine").artifacts[-1].build()
    assert "defect" not in refusal.value.hint
    rows = "rows=lambda topology, arguments: "
    sources = "sources=lambda topology, ports: topology.endpoints"
    assert rows in refusal.value.hint
    assert sources in refusal.value.hint
    load(RING.format(declared=f", {rows} 2 * (topology.nodes - 1), {sources}"))
    stored = plan("S3", schedules="mine").artifacts[-1]
    assert stored.build().graph.content.relationships == stored.rows == 60


def test_a_wrong_schedule_of_a_plug_in_is_not_reported_as_a_defect_of_starcast(
    load: Callable[[str], None],
) -> None:
    load(
        "@starcast.algorithm('reduce', 'f', source='x')\ndef f(topology, root, ports): "
        "return dict(step=[1], sender=[1], port=[3], unit=[0], combine=[1])"
    )
    failure = Lab(Settings.load).simulate_schedule("S3", "reduce", "f").failure
    assert isinstance(failure, RejectedError)
    assert failure.message == "S3:reduce:f:all::123 leaves 1 unit undelivered"
    assert failure.hint == "correct the plug-in of f"


def test_an_edited_plug_in_with_unchanged_size_and_time_is_loaded_again(
    registries: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's bytecode cache would treat the file as unchanged."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file = tmp_path / "edited.py"
    for value in ("1", "2"):
        registries()
        file.write_text(f"VALUE = {value}\n")
        os.utime(file, (1_000_000_000, 1_000_000_000))
        plugins.load([str(file)])
        assert str(sys.modules["edited"].VALUE) == value
    del sys.modules["edited"]


#: Exceptions whose text, class or kind is unusual, with the part of the message that names them.
UNUSUAL = {
    "str": ("class E(Exception):\n    def __str__(self): raise ValueError", "E, whose message"),
    "number": ("class E(Exception):\n    def __str__(self): return 5", "E, whose message"),
    "exits": ("class E(Exception):\n    def __str__(self): raise SystemExit", "E, whose message"),
    "base": ("class E(BaseException):\n    def __str__(self): return 1", "E, whose message"),
    "group": ("E = lambda: ExceptionGroup('two', [ValueError(1)])", "ExceptionGroup: two (1"),
    "recursion": ("def E(): return E()", "RecursionError: maximum"),
    "memory": ("E = MemoryError", "MemoryError: no message"),
    "missing": ("E = ModuleNotFoundError", "ModuleNotFoundError: no message"),
}


@pytest.mark.parametrize("case", UNUSUAL)
@pytest.mark.parametrize("kind", BODIES)
def test_the_error_for_a_failing_plug_in_names_it_even_if_the_exception_is_unusual(
    load: Callable[[str], None], kind: str, case: str
) -> None:
    definition, shown = UNUSUAL[case]
    load(f"{definition}\n{BODIES[kind]}raise E()")
    with refused("mine.py:", f" raised {shown}"):
        BUILDS[kind]()
    with refused("the plug-in '", "mine.py' cannot be imported: ", shown):
        load(f"{definition}\nraise E()")


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize(
    "result",
    [
        "(exit() for _ in 'a')",
        "type('R', (), {'__class__': property(lambda self: 1 / 0)})()",
        "type('R', (dict,), {'__getitem__': lambda *_: exit(), 'keys': lambda self: exit()})()",
    ],
)
def test_a_plug_in_result_that_raises_an_exception_when_it_is_read_is_refused(
    load: Callable[[str], None], kind: str, result: str
) -> None:
    load(f"{BODIES[kind]}return {result}")
    with refused("mine.py:2)"):
        BUILDS[kind]()


@pytest.mark.parametrize(
    ("option", "body", "shown"),
    [
        ("exclusion", "1 / 0", "ZeroDivisionError"),
        ("exclusion", "False", "the result is of type bool, not str or None"),
        ("rows", "'many'", "TypeError: 'str' object"),
        ("sources", "exit()", "SystemExit"),
        ("refusal", "5", "TypeError: 'int' object"),
        ("forest_construction", "5", "the result is of type int, not str or None"),
    ],
)
def test_the_error_names_the_plug_in_option_whose_function_fails(
    load: Callable[[str], None], option: str, body: str, shown: str
) -> None:
    load(
        f"@starcast.algorithm('gather', 'f', source='x', {option}=lambda *_: {body})\n"
        "def f(topology, root, ports): ..."
    )
    with refused(f"'{option}' of the gather algorithm 'f' (", "mine.py:2) raised ", shown):
        plan("S4", schedules="gather:f")
    if option == "exclusion":
        load(
            f"@starcast.construction('g', source='x', exclusion=lambda _: {body})\n"
            "def g(topology, root): ..."
        )
        with refused("'exclusion' of the construction 'g' (", "mine.py:2) raised ", shown):
            constructions("S4")


#: A construction that forks its process.
FORKS = """
import os, starcast, sys
os.fork()

@starcast.construction("f", source="this test")
def f(topology, root):
    {effect}
    return starcast.forest(topology, "greedy", root)
"""


@pytest.mark.parametrize(
    "effect", ["os.fork()", "os.fork() or sys.exit()", "[os.fork() or 1 / 0 for _ in 'ab']"]
)
def test_a_process_forked_by_a_plug_in_ends_when_it_leaves_the_code_of_the_plug_in(
    tmp_path: Path, effect: str
) -> None:
    file = tmp_path / "forks.py"
    file.write_text(FORKS.format(effect=effect))
    program = f"""
import starcast
from starcast.catalogue import plugins
plugins.load([{str(file)!r}])
print(starcast.forest("S4", "f").height)
"""
    assert run_program(program).stdout == "4\n"


def test_a_plug_in_can_start_its_own_processes(load: Callable[[str], None]) -> None:
    load(
        """
        import multiprocessing

        def add(value): return value + 1

        @starcast.construction("f", source="this test")
        def f(topology, root):
            with multiprocessing.get_context("fork").Pool(1) as pool:
                assert pool.map(add, [1, 2]) == [2, 3]
            return starcast.forest(topology, "greedy", root)
        """
    )
    assert forest("S4", "f").height == 4


HELPED = """
import starcast
import helper

@starcast.construction("f", source="this test")
def f(topology, root):
    import lazy.part
    return starcast.forest(topology, helper.NAME, root)
"""


def write_helped(folder: Path) -> str:
    """Write a plug-in that imports modules from its folder, and return the path of its file."""
    for name, text in {
        "helped.py": HELPED,
        "helper.py": "NAME = 'greedy'\n",
        "other.py": "NAME = 'not imported'\n",
        "lazy/__init__.py": "",
        "lazy/part.py": "from . import deep\n",
        "lazy/deep.py": "from importlib import import_module\nimport_module('.last', __package__)",
        "lazy/last.py": "X = 1\n",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder / "helped.py")


def test_the_hash_of_a_plug_in_covers_the_modules_that_it_imports_from_its_folder(
    registries: Callable[[], None], tmp_path: Path
) -> None:
    file = write_helped(tmp_path / "a")
    digests = {}
    for edited in ("", "other.py", "helper.py", "lazy/part.py", "lazy/last.py", "helped.py"):
        registries()
        if edited:
            path = tmp_path / "a" / edited
            path.write_text(f"{path.read_text()}\n# edited\n")
        plugins.load([file])
        assert forest("S4", "f").height == 4
        digests[edited] = ORIGINS["construction", "f"].sha256
    assert digests["other.py"] == digests[""]
    assert len(set(digests.values())) == 5
    # The hash depends neither on the folder nor on the order of loading.
    registries()
    plugins.load([write_helped(tmp_path / "b")])
    assert ORIGINS["construction", "f"].sha256 == digests[""]


def test_an_edited_module_of_a_plug_in_is_imported_again(
    registries: Callable[[], None], tmp_path: Path
) -> None:
    file = write_helped(tmp_path)
    for name in ("greedy", "breadth-first"):
        registries()
        (tmp_path / "helper.py").write_text(f"NAME = '{name}'\n")
        plugins.load([file])
        assert forest("S4", "f").parent_port.tolist() == forest("S4", name).parent_port.tolist()


@pytest.mark.parametrize("statement", ["import helper", "def g():\n    import helper"])
def test_plug_ins_with_different_modules_of_the_same_name_cannot_be_loaded_together(
    registries: Callable[[], None], tmp_path: Path, statement: str
) -> None:
    """Python keeps one module per name, so both plug-ins would use the module imported first."""
    files = []
    for name in ("greedy", "breadth-first"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "helper.py").write_text(f"NAME = '{name}'\n")
        file = folder / f"my-{name}.py"
        header = f"import starcast\n@starcast.construction('my-{name}', source='x')\n"
        file.write_text(f"{header}def f(topology, root): ...\n{statement}\n")
        files.append(str(file))
    with refused("import different modules named 'helper'", *files):
        plugins.load(files)
    registries()
    plugins.load(files[1:])
    (tmp_path / "greedy" / "helper.py").write_text("NAME = 'breadth-first'\n")
    plugins.load(files)


def test_an_empty_folder_on_the_module_path_does_not_hide_a_package_of_a_plug_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere" / "lazy").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    plugins.load([write_helped(tmp_path / "a")])
    assert forest("S4", "f").height == 4


def test_the_hash_of_a_plug_in_without_modules_of_its_own_is_that_of_its_file(
    load: Callable[[str], None], tmp_path: Path
) -> None:
    # The plug-in imports the standard module `json`, not the file of the same name in its folder.
    (tmp_path / "json.py").write_text("1 / 0")
    load(f"import json, numpy\n{BODIES['construction']}...")
    content = (tmp_path / "mine.py").read_bytes()
    assert ORIGINS["construction", "f"].sha256 == hashlib.sha256(content).hexdigest()


def test_the_hash_of_a_packaged_plug_in_covers_only_its_own_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site-packages"
    monkeypatch.syspath_prepend(folder)
    (folder / "mypack").mkdir(parents=True)
    trees, part = folder / "mypack" / "trees.py", folder / "mypack" / "part.py"
    (folder / "mypack" / "__init__.py").write_text("")
    (folder / "unrelated.py").write_text("")
    trees.write_text("import unrelated\n")
    content = trees.read_bytes()
    assert hash_plugin("mypack.trees", trees) == hashlib.sha256(content).hexdigest()
    trees.write_text("import unrelated\nfrom .part import *\n")
    part.write_text("X = 1")
    first = hash_plugin("mypack.trees", trees)
    (folder / "unrelated.py").write_text("edited")
    assert hash_plugin("mypack.trees", trees) == first
    part.write_text("X = 2")
    assert hash_plugin("mypack.trees", trees) != first


def test_the_modules_of_a_plug_in_are_sent_to_workers(
    registries: Callable[[], None], tmp_path: Path
) -> None:
    """A long-running worker receives one version of a module first, and another version later."""
    file = write_helped(tmp_path)
    for name in ("greedy", "breadth-first"):
        registries()
        (tmp_path / "helper.py").write_text(f"NAME = '{name}'\n")
        plugins.load([file])
        digest = ORIGINS["construction", "f"].sha256
        loader = pickle.loads(pickle.dumps(plugins.pack()))  # noqa: S301 - our own
        registries()
        loader()
        origin = ORIGINS["construction", "f"]
        assert not origin.file.startswith(str(tmp_path))
        assert origin.sha256 == digest
        assert forest("S4", "f").parent_port.tolist() == forest("S4", name).parent_port.tolist()


def test_an_algorithm_name_that_is_not_a_string_is_refused_even_if_its_repr_fails() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise ValueError

    name: Any = Silent()
    declare = starcast.algorithm("broadcast", name, source="x", families=["star"])
    with refused("a value of type Silent is not a valid name"):
        declare(lambda topology, root, ports: {})  # noqa: ARG005


@pytest.mark.parametrize("name", ["~nosuchuser/mine.py", "~nosuchuser/mypaper"])
def test_a_plug_in_in_the_home_folder_of_an_unknown_user_is_refused(name: str) -> None:
    with refused(f"the plug-in '{name}' is in the home folder of an unknown user"):
        plugins.load([name])
    with refused("in the home folder of an unknown user"):
        load_pack(name)


@pytest.mark.parametrize("name", ["numpy", "random", "starcast"])
def test_a_plug_in_does_not_replace_a_module_of_the_same_name(name: str, tmp_path: Path) -> None:
    before = sys.modules.get(name)
    path = tmp_path / f"{name}.py"
    path.write_text("import starcast\n", encoding="utf-8")
    with refused(f"{path} has the name of a module") as caught:
        plugins.load([str(path)])
    assert caught.value.hint == "rename the file"
    assert sys.modules.get(name) is before
