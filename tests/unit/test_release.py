"""Release requirements that need no release tools; `make release-check` runs the tools."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

from starcast.support.installation import install_command

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]


def test_github_workflows_run_only_make_targets_and_pin_their_actions() -> None:
    files = list((ROOT / ".github" / "workflows").iterdir())
    assert files
    for file in files:
        text = file.read_text(encoding="utf-8")
        commands = re.findall(r"\brun: (.*)", text)
        targets = [re.fullmatch(r"make ([a-z-]+)", command) for command in commands]
        assert commands
        assert all(targets), commands
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert all(f"\n{target[1]}:" in makefile for target in targets if target)
        actions = re.findall(r"\buses: (.*)", text)
        assert [each for each in actions if not re.search(r"@[0-9a-f]{40} # v", each)] == []


def test_the_test_workflow_runs_every_python_version_that_the_classifiers_list() -> None:
    prefix = "Programming Language :: Python :: "
    classified = [
        each.removeprefix(prefix)
        for each in PROJECT["project"]["classifiers"]
        if each.startswith(prefix)
    ]
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    (matrix,) = re.findall(r"^ +python: \[(.*)\]$", workflow, re.MULTILINE)
    assert matrix == ", ".join(f'"{version}"' for version in classified)


def test_developer_dependency_groups_are_not_extras() -> None:
    groups = PROJECT["dependency-groups"]
    assert {"bench", "dev", "docs", "release"} == groups.keys()
    assert not groups.keys() & PROJECT["project"]["optional-dependencies"].keys()


def test_make_explains_that_a_non_ascii_path_needs_a_utf_8_locale(tmp_path: Path) -> None:
    """With LC_ALL=C, a Python 3.11 command in a folder with such a path ends with a traceback."""
    folder = tmp_path / "übung"
    folder.mkdir()
    shutil.copy(ROOT / "Makefile", folder)

    def make(where: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ["PATH"], **variables}
        command = ["make", "--no-print-directory", "-C", str(where), "help"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    refused = make(folder, LC_ALL="C")
    assert refused.returncode == 2
    assert "is not ASCII: run 'export LC_ALL=C.UTF-8' first" in refused.stderr
    assert make(folder, LANG="C").returncode == make(ROOT, LC_ALL="C").returncode == 0


def test_the_extra_all_includes_every_other_extra() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    named = re.fullmatch(r"starcast\[(.*)\]", everything)
    assert named
    assert named[1].split(",") == sorted(extras.keys() - {"all"})


def test_the_licence_files_for_the_reuse_tool_and_for_the_wheel_are_identical() -> None:
    copies = [(ROOT / name).read_bytes() for name in ("LICENSE", "LICENSES/Apache-2.0.txt")]
    assert copies[0] == copies[1]


def test_the_version_is_the_same_in_pyproject_citation_and_changelog() -> None:
    version = PROJECT["project"]["version"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {version}\n" in citation
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {version}" in changelog


def test_no_page_or_module_recommends_installing_starcast_from_a_package_index() -> None:
    """No index has starcast, so errors name its dependencies, and pages install from the clone."""
    texts = [
        ROOT / "README.md",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "examples").rglob("*.ipynb"),
    ]
    texts += (ROOT / "service").rglob("*.py")
    found = [
        each for each in texts if re.search(r"pip install '?starcast", each.read_text("utf-8"))
    ]
    assert found == []


def test_the_suggested_install_command_for_an_extra_names_its_packages() -> None:
    for extra in ("web", "plots", "embedded", "search"):
        command = install_command(extra)
        wanted = [re.match(r"[\w.-]+", each) for each in EXTRAS[extra]]
        assert re.findall(r"'([\w.-]+)", command) == sorted(each[0] for each in wanted if each)
