"""The commands `starcast forest` and `starcast topology`, used without a server."""

from pathlib import Path

import numpy as np
import pytest

from starcast.lab import Lab
from starcast.support.errors import InputError, RejectedError
from starcast.support.settings import Settings
from starcast.topologies import topology
from starcast.trees import Forest, constructions, forest
from starcast.trees.construction import CONSTRUCTIONS
from support.fix_cli import Result, Starcast, printed, refused

pytestmark = pytest.mark.usefixtures("alone")


def test_forest_build_writes_the_forest_and_prints_its_summary(starcast: Starcast) -> None:
    result = starcast("forest build S5 multiple --root 54321 --out forest.npz -f json")
    assert result.err == ""
    size = Path("forest.npz").stat().st_size
    figures = {"id": "S5:multiple:54321", "trees": 4, "nodes": 120, "edges": 476, "spanning": True}
    assert result.json == [figures | {"file": "forest.npz", "bytes": size}]
    assert np.array_equal(
        Forest.open("forest.npz").parent_port, forest("S5", "multiple", "54321").parent_port
    )


def test_construction_arguments_can_be_options_or_in_parentheses(starcast: Starcast) -> None:
    for words in (
        "dimension-change --base greedy --i 2",
        "'dimension-change(base=greedy,i=2)'",
        "'dimension-change(i=2)' --base greedy",
    ):
        (row,) = printed(starcast(f"forest build S5 {words} --out f.npz -f json"))
        assert Forest.open("f.npz").id == row["id"] == "S5:dimension-change(base=greedy,i=2):12345"


def test_a_forest_file_and_its_construction_give_the_same_verification_result(
    starcast: Starcast,
) -> None:
    starcast("forest build S5 perfectly-balanced --out f.npz")
    for words in ("f.npz", "S5 perfectly-balanced"):
        result = starcast(f"forest verify {words} -f json")
        (row,) = result.json
        assert row.pop("seconds") > 0
        figures = {"trees": 4, "nodes": 120, "edges": 132, "spanning": False}
        assert row == {"id": "S5:perfectly-balanced:12345", **figures}


def test_an_invalid_forest_in_a_file_is_rejected(starcast: Starcast) -> None:
    array = forest("S4", "greedy").parent_port.copy()
    array[0, [1, 6]] = 2
    Forest(topology("S4"), array).save("f.npz")
    for verb in ("verify", "show", "draw"):
        assert "tree 0, node" in refused(starcast(f"forest {verb} f.npz"), 6)[0]


def test_an_invalid_forest_is_not_written(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reject(_: Forest) -> None:
        raise RejectedError("no trees", hint="none")

    monkeypatch.setattr(Forest, "verify", reject)
    refused(starcast("forest build S4 greedy --out f.npz"), 6)
    refused(starcast("forest draw S4 greedy --out f.svg"), 6)
    assert list(Path().glob("f.*")) == []


def test_a_forest_is_shown_with_its_metrics(starcast: Starcast) -> None:
    shown = printed(starcast("forest show S6 multiple -f json"))
    assert shown["id"] == "S6:multiple:123456"
    assert shown["source"] == "Tseng & Sheu 1997, Def. 2"
    assert shown["heights"] == [12, 13, 14, 13, 12]
    assert shown["congestion"] == 2
    assert shown["load_histogram"] == {"0": 480, "1": 2645, "2": 475}
    profile = forest("S6", "multiple").level_profile()
    assert shown["levels"] == [np.trim_zeros(row, "b").tolist() for row in profile]


def test_forest_metrics_are_written_as_text_in_csv(starcast: Starcast) -> None:
    """The two trees have heights 5 and 4. Lemma 5 of Tseng & Sheu 1997 states height 5 for both."""
    result = starcast("forest show S3 multiple -f csv")
    rows = {row["property"]: row for row in result.rows}
    assert rows["heights"]["value"] == "5 4"
    assert rows["load_histogram"]["value"] == "3 carry 0, 8 carry 1, 1 carry 2"
    assert rows["branches"]["value"] == "5; 1 4"


@pytest.mark.parametrize("spec", ["S4", "S4,2", "Q3"])
def test_forest_show_accepts_every_construction(starcast: Starcast, spec: str) -> None:
    for name in constructions(spec):
        values = {"base": constructions(spec)[-1], "i": 1}
        needed = [each.name for each in CONSTRUCTIONS[name].arguments if each.default is None]
        given = [f"--{each} {values[each]}" for each in needed]
        shown = printed(starcast(f"forest show {spec} {name} {' '.join(given)} -f json"))
        assert shown["trees"] >= 1


def test_forest_show_prints_the_same_for_a_file_as_for_its_construction(starcast: Starcast) -> None:
    words = "S4 label-change --base multiple --root 4132"
    starcast(f"forest build {words} --out f.npz")
    built = starcast(f"forest show {words}")
    assert built.code == 0
    assert starcast("forest show f.npz") == built


def test_commands_that_show_stored_artifacts_fail_without_a_server(starcast: Starcast) -> None:
    """A forest id and the options `--stored` and `--verify` refer to stored artifacts."""
    assert "127.0.0.1:1" in refused(starcast("forest show S5:multiple:12345"), 4)[0]
    zeros = starcast("forest show S5:multiple:12345 --labels 0")
    assert (zeros.code, zeros.err.splitlines()[0]) == (
        4,
        "labels in stored forests consist of the symbols 1..n",
    )
    assert "127.0.0.1:1" in refused(starcast("topology show S5 --stored"), 4)[0]
    assert "127.0.0.1:1" in refused(starcast("topology show S5 --verify"), 4)[0]


def test_a_drawing_is_written_to_a_file_or_stdout_unless_it_is_too_large(
    starcast: Starcast,
) -> None:
    assert starcast("topology draw S4 --out s4.svg").err == "drew S4 to s4.svg\n"
    text = Path("s4.svg").read_text(encoding="utf-8")
    assert starcast("topology draw S4") == Result(0, text, "")
    for words in ("topology draw S6", "forest draw S6 greedy"):
        error, hint = refused(starcast(f"{words} --out f.svg"), 7)
        assert "720 nodes" in error
        assert not Path("f.svg").exists()
    assert "S5" in hint
    assert "--force" in hint
    assert starcast(f"{words} --out f.svg --force").code == 0


def test_constructions_are_listed_with_papers_and_arguments(starcast: Starcast) -> None:
    rows = {row["construction"]: row for row in starcast("forest constructions -f json").json}
    assert list(rows) == list(constructions())
    assert rows["multiple"]["paper"] == "Tseng & Sheu 1997, Def. 2"
    assert rows["dimension-change"]["arguments"] == ["base", "i"]
    assert rows["binomial"]["families"] == ["hypercube"]
    assert all(row["description"] and row["paper"] for row in rows.values())
    for spec in ("S2", "S5", "S5,3", "Q4"):
        named = starcast(f"forest constructions {spec} -f json").json
        assert [row["construction"] for row in named] == list(constructions(spec))


def test_topology_show_prints_the_properties_of_s6(starcast: Starcast) -> None:
    lines = starcast("topology show S6 -f csv").out.splitlines()
    assert lines[1:] == [
        "spec,S6",
        "family,star",
        "nodes,720",
        "links,1800",
        "degree,5",
        "ports,2 3 4 5 6",
        "reverse_ports,2 3 4 5 6",
        "diameter,7",
        "mean_distance,4.78998609179416",
        "exact_mean_distance,3444/719",
        "distance_profile,1 5 20 70 170 250 169 35",
    ]


def test_a_forest_file_with_a_wrong_construction_name_fails_verify_but_show_and_draw_only_warn(
    starcast: Starcast,
) -> None:
    greedy = forest("S4", "greedy")
    Forest(greedy.topology, greedy.parent_port, construction="recursive-substar").save("f.npz")
    error, hint = refused(starcast("forest verify f.npz"), 6)
    assert "f.npz has the id S4:recursive-substar:1234, but its trees differ from those of" in error
    assert "the construction: node " in error
    assert "build it again" in hint
    for words in ("show f.npz", "draw f.npz --out f.svg"):
        result = starcast(f"forest {words}")
        assert result.code == 0
        assert "but its trees differ" in result.err


@pytest.mark.parametrize(
    ("name", "arguments", "difference"),
    [
        ("multiple", {}, "builds 3 trees, not 1"),
        ("recursive-substar", {"base": "greedy"}, "has no argument 'base'"),
        ("dimension-change", {"base": "greedy"}, "'i'"),
        ("greedy", {"root": 1}, "'root'"),
        ("nk-greedy", {}, "not defined"),
    ],
)
def test_the_error_of_forest_verify_says_how_a_file_differs_from_its_construction(
    starcast: Starcast, name: str, arguments: dict[str, str | int], difference: str
) -> None:
    greedy = forest("S4", "greedy")
    Forest(greedy.topology, greedy.parent_port, 0, name, arguments).save("f.npz")
    error, _ = refused(starcast("forest verify f.npz"), 6)
    assert difference in error


def test_a_forest_file_that_names_an_unknown_construction_is_accepted(starcast: Starcast) -> None:
    greedy = forest("S4", "greedy")
    for name in ("mine", "array"):
        Forest(greedy.topology, greedy.parent_port, construction=name).save("f.npz")
        assert starcast("forest verify f.npz").code == 0


def test_the_python_api_also_takes_forest_objects(tmp_path: Path) -> None:
    """The command line takes a forest as a name or a file. Python also takes a `Forest`."""
    lab = Lab(Settings.load)
    s3 = topology("S3")
    mine = Forest(s3, np.array([[0, 3, 2, 2, 2, 3]], np.uint8), construction="mine")
    other = Forest(s3, mine.parent_port, construction="hamiltonian-cycle")
    assert lab.verify_forest(mine)["id"] == ["S3:mine:123"]
    assert lab.show_forest(mine)["heights"] == mine.heights.tolist()
    assert lab.draw_forest(mine, layout="levels").svg.startswith("<svg")
    assert b"".join(lab.export_forest(mine, to="newick").parts()).endswith(b"123;\n")
    page = lab.explore(topology("S3"), forest=[mine, "greedy"], root=5, out=tmp_path / "page.html")
    assert page["forests"] == [mine.id, "S3:greedy:321"]
    page = lab.explore(
        "S3", forest="greedy", schedule="broadcast:greedy", out=tmp_path / "page.html"
    )
    assert page["forests"] == ["S3:greedy:123"]
    assert page["schedules"] == ["S3:broadcast:greedy:all:segments=1:123"]
    mine.save(tmp_path / "f.npz")
    planned = lab.ingest("S3", forest=str(tmp_path / "f.npz"), dry_run=True)
    assert planned["id"][:2] == ["S3", mine.id]
    with pytest.raises(RejectedError, match="the forest has the id S3:hamiltonian-cycle:123, but"):
        lab.verify_forest(other)
    with pytest.raises(InputError, match="cannot be changed"):
        lab.show_forest(mine, root=1)


def test_roots_drawings_and_errors_can_use_labels_with_symbols_from_0(
    starcast: Starcast, tmp_path: Path
) -> None:
    built = starcast("forest build S3 greedy --root 210 --labels 0 --out f.npz -f json")
    assert built.json[0]["id"] == "S3:greedy:321"
    assert Forest.open(tmp_path / "f.npz").root == 5
    for words in ("f.npz", "S3 greedy --root 210"):
        picture = starcast(f"forest draw {words} --labels 0")
        assert picture.code == 0, picture.err
        assert ">210<" in picture.out
        assert ">321<" not in picture.out
    assert ">012<" in starcast("topology draw S3 --labels 0").out
    message, hint = refused(starcast("forest draw S3 greedy --root 210"), 2)
    assert "the symbol '0'" in message
    assert "--labels 0" in hint
    array = forest("S3", "greedy").parent_port.copy()
    array[0, 5] = 9
    Forest(topology("S3"), array, construction="mine").save("f.npz")
    assert "node 321 " in refused(starcast("forest verify f.npz"), 6)[0]
    assert "node 210 " in refused(starcast("forest verify f.npz --labels 0"), 6)[0]


def test_shards_of_a_verification_by_blocks_are_merged(starcast: Starcast) -> None:
    words = "forest verify S7 dimension-change --base greedy --i 2"
    root = "--root 7654321 --blocks"
    for part in ("1", "2"):
        written = starcast(f"{words} {root} --shard {part}/2 --out {part}.json")
        assert written.code == 0, written.err
    merged = starcast("forest merge 1.json 2.json --format json")
    alone = starcast(f"{words} {root} --format json")
    shown = [result.json[0] | {"seconds": 0} for result in (merged, alone)]
    assert shown[0] == shown[1]
    built = forest("S7", "dimension-change", "7654321", base="greedy", i=2)
    assert shown[0]["id"] == built.id
    assert (shown[0]["heights"], shown[0]["congestion"]) == (built.heights.tolist(), 1)
    histogram = {int(load): links for load, links in shown[0]["load_histogram"].items()}
    assert histogram == built.load_histogram()
    error, hint = refused(starcast("forest merge 2.json"), 2)
    assert error == "1 shard is missing: 1/2"
    assert hint == "run the missing shards, then merge all files; nothing was stored"
