"""The documentation: each page is of a known kind, mentioned files exist, and examples work."""

import importlib
import re
import textwrap
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from starcast.cli.operations import command
from starcast.support.errors import InputError

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
INDEX = (DOCS / "index.md").read_text(encoding="utf-8")
KINDS = ("Tutorials", "Guides", "Reference", "Background")
#: The imports of a module to which the exercise in CONTRIBUTING.md adds a method.
IMPORTS = """
from starcast.lab import Facts, Lab
from starcast.lab.signature import TopologyName
from starcast.support.errors import InputError
"""
#: Pages that mention source files by name. The mentioned files must exist.
NAMING = (
    ROOT / "CONTRIBUTING.md",
    *(
        DOCS / f"{name}.md"
        for name in ("architecture", "adding", "claims-how-to", "exact-alltoall", "threat-model")
    ),
    *sorted(DOCS.glob("decisions/0*.md")),
)


def pages_of(kind: str) -> list[str]:
    """Return the names of the pages that the index lists under a kind."""
    section = INDEX.split(f"\n## {kind}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| \[.*?\]\((.*?)\.md\)", section, re.MULTILINE)


def code_block(page: Path, first: str) -> str:
    """Return the Python code block of a page that begins with the text ``first``.

    The page must have exactly one such block.
    """
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (block,) = (each for each in map(textwrap.dedent, blocks) if each.startswith(first))
    return str(block)


def test_no_two_pages_or_notebooks_use_the_same_experiment_name() -> None:
    """Readers can therefore run all pages with the same stores (tests/docs/test_sessions.py)."""
    pages = {ROOT / "README.md", *DOCS.glob("*.md"), *ROOT.glob("examples/notebooks/*.ipynb")}
    owners: dict[str, set[str]] = {}
    for page in pages - {DOCS / "commands.md"}:
        source = page.read_text(encoding="utf-8").replace('\\"', '"').replace("\\n", "")
        for name in re.findall(
            r'experiment run ([a-z][\w-]*)|\.experiment\([\s",]*"([\w-]+)', source
        ):
            owners.setdefault("".join(name), set()).add(page.name)
    assert {name: files for name, files in owners.items() if len(files) > 1} == {}
    assert {"new-trees", "py-substar", "compose-substar", "hour-substar", "my-trees"} <= {*owners}


def test_the_documentation_index_lists_every_page_under_one_kind() -> None:
    listed = [page for kind in KINDS for page in pages_of(kind)]
    paths = (path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md"))
    parts = re.compile("index|(?:api|decisions|records)/(?!index)")
    assert sorted(listed) == sorted(path for path in paths if not parts.match(path))


@pytest.mark.whole
@pytest.mark.parametrize("kind", KINDS)
def test_navigation_and_readme_list_pages_under_the_same_kind_as_the_index(kind: str) -> None:
    """The navigation of the site lists all pages of a kind, and the README some of them."""
    (tree,) = re.findall(rf":caption: {kind}\n:hidden:\n\n(.*?)```", INDEX, re.DOTALL)
    assert [page for page in tree.split() if "records/" not in page] == pages_of(kind)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| {kind.lower()} \| (.*) \|$", readme, re.MULTILINE)
    linked = set(re.findall(r"\(docs/([\w/-]+)\.md\)", row))
    assert linked
    assert linked <= set(pages_of(kind))


def test_source_files_that_pages_mention_exist() -> None:
    names = {
        (page.name, name)
        for page in NAMING
        for name in re.findall(r"`([\w./-]+/[\w.-]*\.(?:py|js|md|toml|json|yml))`",
                               page.read_text(encoding="utf-8"))
    }  # fmt: skip
    folders = (ROOT, ROOT / "service", ROOT / "service" / "starcast")
    missing = [name for name in names if not any((folder / name[1]).exists() for folder in folders)]
    assert len(names) > 50
    assert sorted(missing) == [("architecture.md", "trees/NAME.py")]


@pytest.mark.parametrize("record", sorted(DOCS.glob("decisions/0*.md")), ids=lambda path: path.stem)
@pytest.mark.whole
def test_every_decision_record_states_whether_it_is_in_force(record: Path) -> None:
    text = record.read_text(encoding="utf-8")
    ((number, title),) = re.findall(r"\A# (\d+)\. (.+)", text)
    assert int(number) == int(record.name[:4])
    ((status, rest),) = re.findall(r"^Status: ([\w ]+)(.*)", text, re.MULTILINE)
    assert status in {"in force", "in force in part", "replaced by "}
    assert rest == "." or re.search(r"\[decision \d+\]\(\d+-[\w-]+\.md\)", rest)
    index = (DOCS / "decisions" / "index.md").read_text(encoding="utf-8")
    assert f"\n| [{number}]({record.name}) | {title} | {status.strip()}" in index


def test_the_exercise_in_the_contributing_guide_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = textwrap.indent(code_block(DOCS / "adding.md", "def count_nodes"), "    ")
    test = code_block(ROOT / "CONTRIBUTING.md", "from starcast.lab import Lab")
    (tmp_path / "exercise.py").write_text(f"{IMPORTS}\n\nclass Networks(Lab):\n{method}\n\n{test}")
    monkeypatch.syspath_prepend(tmp_path)
    exercise = importlib.import_module("exercise")
    monkeypatch.setattr(exercise, "Lab", exercise.Networks)
    exercise.test_a_node_of_s5_has_a_neighbour_for_each_dimension()

    nouns = typer.Typer()
    nouns.callback()(lambda: None)
    command(nouns, "count", exercise.Networks.count_nodes)
    shown = CliRunner().invoke(nouns, ["count", "S5", "--distance", "1", "-f", "json"])
    assert '"nodes": 4' in shown.output
    shown = CliRunner().invoke(nouns, ["count", "S5", "--distance", "7"])
    assert isinstance(shown.exception, InputError)
