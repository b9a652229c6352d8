"""Paper packs of a user: loading, errors with file and line, and checks in worker processes."""

import pickle
import re
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import starcast
from starcast.catalogue import packs, plugins
from starcast.catalogue.plugins import ORIGINS
from starcast.claims import catalogue, verify
from starcast.claims.catalogue import claims, load, papers, select_claims
from starcast.claims.pack_file import write_template
from starcast.queries.counterexample import to_cypher
from starcast.support.errors import InputError, StarcastError
from support.fix_cli import Starcast

pytestmark = pytest.mark.usefixtures("registries")

FAMILY = """\
import starcast

@starcast.family("bi-rotator", pattern=r"R(\\d+)", source="Corbett 1992", noun="bi-rotator graphs")
def bi_rotator(n):
    return [[*range(2, n + 1), 1], [n, *range(1, n)], [2, 1, *range(3, n + 1)]]
"""


def edit(path: Path, old: str, new: str) -> None:
    """Replace a text in a file after checking that the file contains it."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def break_key(pack: Path) -> None:
    edit(pack / "claims.toml", "statement = ", "statment = ")


def remove_check(pack: Path) -> None:
    edit(pack / "checks.py", '@checks("MYPAPER.diameter")\n', "")


def misspell_check(pack: Path) -> None:
    edit(pack / "checks.py", "MYPAPER.diameter", "MYPAPER.dimeter")


def repeat_check(pack: Path) -> None:
    edit(pack / "checks.py", "MYPAPER.diameter", "MYPAPER.children")


def repeat_check_in_another_module(pack: Path) -> None:
    (pack / "more.py").write_bytes((pack / "checks.py").read_bytes())


def break_module(pack: Path) -> None:
    edit(pack / "checks.py", "import numpy as np", "import numpy as np\n1 / 0")


def break_syntax(pack: Path) -> None:
    edit(pack / "checks.py", "import numpy as np", "import numpy as")


def miss_module(pack: Path) -> None:
    edit(pack / "checks.py", "import numpy as np", "import nunpy as np")


def miss_family(pack: Path) -> None:
    edit(pack / "claims.toml", 'family = "star", quick = 5, full = 6, deep = 7', 'only = ["R4"]')


def take_key(pack: Path) -> None:
    for name in ("claims.toml", "checks.py"):
        edit(pack / name, "MYPAPER", "TS")


BROKEN = [
    (break_key, "claims.toml:15: claim MYPAPER.diameter has the unknown key 'statment'"),
    (remove_check, "claims.toml:13: claim MYPAPER.diameter has no check"),
    (misspell_check, "checks.py:14: this check names the claim MYPAPER.dimeter, which is a"),
    (repeat_check, "checks.py:20: claim MYPAPER.children has two checks"),
    (repeat_check_in_another_module, "more.py:14: claim MYPAPER.diameter has two checks"),
    (break_module, "checks.py:8: ZeroDivisionError: division by zero"),
    (break_syntax, "checks.py:7: SyntaxError: "),
    (miss_module, "checks.py:7: ModuleNotFoundError: No module named 'nunpy'"),
    (miss_family, "claims.toml:17: claim MYPAPER.diameter: unknown topology 'R4'"),
    (take_key, "claims.toml:5: another pack has the key TS too: Tseng & Sheu 1997"),
]


def test_the_claims_of_a_paper_pack_are_listed_and_checked_like_built_in_claims(pack: Path) -> None:
    assert list(load(pack)) == ["MYPAPER.diameter", "MYPAPER.children"]
    assert list(papers())[-1] == "MYPAPER"
    assert [claim.id for claim in select_claims(["MYPAPER"])] == list(claims())[-2:]
    assert starcast.check("MYPAPER.diameter").verdict == "holds"
    verdict = starcast.check("MYPAPER.children")
    assert verdict.place == "n = 3, node = 123: found 2, stated 1"
    assert "Correct statement: the root has n-1 children" in verdict.detail
    assert "ingest S3 --trees greedy" in to_cypher(verdict)
    assert claims()["MYPAPER.children"].section == "mypaper.checks"
    assert [path.name for path in pack.iterdir() if path.is_dir()] == []


def test_loading_a_paper_pack_again_uses_its_edited_claims_and_checks(pack: Path) -> None:
    load(pack)
    edit(pack / "checks.py", "3 * (check.n - 1) // 2", "2 * (check.n - 1)")
    assert starcast.check("MYPAPER.diameter").verdict == "holds"
    load(pack)
    assert starcast.check("MYPAPER.diameter").verdict == "fails"
    edit(pack / "claims.toml", "MYPAPER.diameter", "MYPAPER.far")
    edit(pack / "checks.py", "MYPAPER.diameter", "MYPAPER.far")
    assert list(load(pack)) == ["MYPAPER.far", "MYPAPER.children"]


def test_claims_of_a_paper_pack_can_refer_to_a_topology_family_that_the_pack_declares(
    pack: Path,
) -> None:
    (pack / "networks.py").write_text(FAMILY)
    sizes = 'quick = ["R4", "R5"], beyond = ["R3"]'
    edit(pack / "claims.toml", 'family = "star", quick = 5, full = 6, deep = 7', sizes)
    edit(pack / "checks.py", 'forests("greedy")', 'forests("breadth-first")')
    load(pack)
    verdict = starcast.check("MYPAPER.diameter")
    assert (verdict.verdict, verdict.place) == ("fails", "size = R4: found 6, stated 4")
    assert "// starcast ingest R4\n" in to_cypher(verdict)
    assert ORIGINS["family", "bi-rotator"].sha256 == packs.hash_folder(pack)


@pytest.mark.parametrize(("change", "message"), BROKEN)
def test_the_error_for_an_invalid_paper_pack_names_the_file_and_the_line(
    change: Callable[[Path], None], message: str, pack: Path
) -> None:
    change(pack)
    with pytest.raises(InputError) as caught:
        load(pack)
    assert f"{pack}/{message}" in caught.value.message


@pytest.mark.parametrize(("change", "message"), BROKEN)
def test_an_invalid_paper_pack_of_an_installed_package_is_omitted_with_a_warning(
    change: Callable[[Path], None],
    message: str,
    pack: Path,
    monkeypatch: pytest.MonkeyPatch,
    starcast: Starcast,
    tmp_path: Path,
) -> None:
    before = list(claims())
    (pack / "__init__.py").touch()
    change(pack)
    monkeypatch.syspath_prepend(pack.parent)
    for name in [name for name in sys.modules if name.partition(".")[0] == "mypaper"]:
        monkeypatch.delitem(sys.modules, name)
    point = EntryPoint("mine", "mypaper", plugins.ENTRY_POINTS)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [point])
    plugins.load([])
    assert list(claims()) == before
    (fault,) = catalogue.faults().values()
    assert message in fault.message
    result = starcast(f"--home {tmp_path} claims list TS.L5 -f json")
    assert [row["id"] for row in result.json] == ["TS.L5"]
    assert re.search(r"the paper pack \S+ is omitted: \S+mypaper", result.err)


def test_a_paper_pack_can_be_loaded_as_a_module_or_through_an_entry_point(
    pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pack / "__init__.py").touch()
    pack.rename(pack.with_name("my_installed_paper"))
    monkeypatch.syspath_prepend(pack.parent)
    plugins.load(["my_installed_paper"])
    assert starcast.check("MYPAPER.diameter").verdict == "holds"
    packs._loaded.clear()
    point = EntryPoint("mine", "my_installed_paper", plugins.ENTRY_POINTS)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [point])
    plugins.load([])
    assert starcast.check("MYPAPER.children").verdict == "fails"


def test_two_paper_packs_with_the_same_name_or_key_are_refused(pack: Path, tmp_path: Path) -> None:
    load(pack)
    write_template(tmp_path / "other" / "mypaper")
    with pytest.raises(InputError, match=r"packs .*/mypaper and .*/other/mypaper have the same"):
        load(tmp_path / "other" / "mypaper")
    write_template(tmp_path / "my-paper")
    with pytest.raises(
        InputError, match=r"my-paper/claims.toml:5: another pack has the key MYPAPER"
    ):
        load(tmp_path / "my-paper")


def test_a_paper_pack_with_the_name_of_a_built_in_folder_is_refused(tmp_path: Path) -> None:
    write_template(tmp_path / "common")
    with pytest.raises(InputError, match=r"papers/common and .*/common have the same name"):
        load(tmp_path / "common")
    assert starcast.check("TS.L1", sizes=["S3"]).verdict != "fails"


def test_a_paper_pack_whose_files_are_too_large_is_refused(
    pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packs, "_MAX_BYTES", 10**6)
    (pack / "data.bin").write_bytes(b"a" * 10**6)
    with pytest.raises(InputError, match=r"the files in .*/mypaper are larger than 1 MB"):
        load(pack)


def test_a_plug_in_whose_package_cannot_be_imported_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_package").mkdir()
    (tmp_path / "broken_package" / "__init__.py").write_text("import sys; sys.exit()")
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("mine", "broken_package.trees", plugins.ENTRY_POINTS)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [point])
    with pytest.raises(InputError, match=r"'broken_package.trees' cannot be imported: SystemExit"):
        plugins.load([])


@pytest.mark.parametrize(
    ("measured", "reason"),
    [
        ("check.n // 0", "Z"),
        ("exit()", "SystemExit"),
        ("check.forest('gredy')", "unknown construction 'gredy'"),
        ("check.equal(check.n, 1, 1)", "TypeError: the first argument must be text"),
        ("check.distances().fill(0)", "ValueError: assignment destination is read-only"),
    ],
)
def test_the_error_for_a_claim_check_that_raises_an_exception_names_its_line(
    measured: str, reason: str, pack: Path
) -> None:
    edit(pack / "checks.py", "3 * (check.n - 1) // 2", measured)
    load(pack)
    for jobs in (1, 2):
        with pytest.raises(
            InputError, match=rf"checks.py:17: .*of MYPAPER.diameter failed on S\d: {reason}"
        ):
            verify.verify_claims(select_claims(["MYPAPER"]), jobs=jobs)
    with pytest.raises(InputError, match=r"checks.py:17: the check of MYPAPER.diameter failed"):
        starcast.check("MYPAPER.diameter", sizes=["S4"])


def test_a_claim_whose_check_compares_nothing_is_not_checkable(pack: Path) -> None:
    edit(
        pack / "checks.py",
        'check.equal("diameter", check.diameter, 3 * (check.n - 1) // 2)',
        "pass",
    )
    load(pack)
    verdict = starcast.check("MYPAPER.diameter")
    assert verdict.verdict == "not checkable"
    assert "Nothing was compared" in verdict.detail


def test_worker_processes_load_the_paper_packs_of_their_parent(pack: Path) -> None:
    load(pack)
    found = verify.verify_claims(select_claims(["MYPAPER"]), jobs=2)
    assert [verdict.verdict for verdict in found] == ["holds", "fails"]


def test_the_files_of_a_paper_pack_are_sent_to_workers(
    pack: Path, registries: Callable[[], None]
) -> None:
    """A long-running worker receives one version of the pack first, and another version later."""
    for stated in ("3 * (check.n - 1) // 2", "2 * check.n"):
        edit(pack / "checks.py", "3 * (check.n - 1) // 2", stated)
        registries()
        load(pack)
        loader = pickle.loads(pickle.dumps(plugins.pack()))  # noqa: S301 - our own
        if stated.startswith("3"):
            packs._loaded.clear()
        loader()
        (sent,) = packs.loaded()
        assert not sent.folder.is_relative_to(pack.parent)
        assert sorted(path.name for path in sent.folder.iterdir()) == ["checks.py", "claims.toml"]
        expected = "holds" if stated.startswith("3") else "fails"
        assert starcast.check("MYPAPER.diameter").verdict == expected


@pytest.mark.parametrize("name", ["mypaper", "mypaper/", "./mypaper"])
def test_the_option_plugin_accepts_the_folder_of_a_paper_pack(
    name: str, pack: Path, starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pack.parent)
    result = starcast(f"--plugin {name} claims check MYPAPER --no-store --sizes S4 -f json")
    assert [row["verdict"] for row in result.json] == ["holds", "fails"]
    break_key(pack)
    result = starcast(f"--plugin {name} topology show S4")
    assert result.code == 2
    assert result.err.startswith(f"error: {pack}/claims.toml:15: ")


def test_a_paper_pack_is_created_from_a_template_but_never_overwritten(
    starcast: Starcast, tmp_path: Path
) -> None:
    folder = tmp_path / "a b" / "ring-paper"
    result = starcast("claims new", folder)
    assert (result.code, result.out) == (0, f"{folder}\n")
    assert f"--plugin '{folder}' claims check RINGPAPER" in result.err
    assert list(load(folder)) == ["RINGPAPER.diameter", "RINGPAPER.children"]
    for name, problem in ((folder, "already exists"), (tmp_path / "2026", "has no letters")):
        result = starcast("claims new", name)
        assert result.code == 2
        assert problem in result.err


def test_a_new_paper_pack_cannot_have_the_key_of_a_built_in_paper(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="key TS, which a built-in paper pack has"):
        write_template(tmp_path / "ts")


@pytest.mark.parametrize("name", ["claims.toml", "checks.py"])
def test_a_single_file_of_a_paper_pack_cannot_be_loaded_as_a_plug_in(name: str, pack: Path) -> None:
    with pytest.raises(InputError, match="is a file of a paper pack") as caught:
        plugins.load([str(pack / name)])
    assert caught.value.hint == f"name the folder of the pack: {pack}"


def test_the_plural_noun_in_the_declaration_of_a_family_must_end_in_s() -> None:
    with pytest.raises(InputError, match=r"the noun 'graphs with jumps 1 and 2' .* does not"):
        starcast.family("jumps", pattern=r"J(\d+)", source="x", noun="graphs with jumps 1 and 2")(
            lambda n: [1, n - 1]
        )


def test_a_folder_without_a_file_of_claims_is_not_a_paper_pack(tmp_path: Path) -> None:
    with pytest.raises(StarcastError, match=r"is not a paper pack: it has no claims\.toml"):
        load(tmp_path)


def test_suggested_commands_name_the_folder_of_the_paper_pack_that_they_need(
    pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pack / "more.py").write_text(FAMILY, encoding="utf-8")
    plugins.load([str(pack)])
    used = [{"bi-rotator": ORIGINS["family", "bi-rotator"].describe()}]
    monkeypatch.chdir(pack.parent)
    command = plugins.name_plugins("starcast topology show R4", used)
    assert command == "starcast --plugin mypaper topology show R4"
    packs._loaded.clear()
    command = plugins.name_plugins("starcast topology show R4", used)
    assert command == "starcast --plugin ./mypaper topology show R4"


def test_a_paper_pack_in_the_root_folder_is_not_mistaken_for_a_pack_sent_to_a_worker() -> None:
    assert not packs.is_sent(Path("/mypaper"))
    assert packs.is_sent(Path(f"/tmp/{packs.SENT}x/0123/mypaper"))
