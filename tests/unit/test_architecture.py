"""The house itself: imports point one way, modules stay small, nothing names a package registry."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "service" / "starcast"

#: What each part may import of the others; what is not listed as a key may be imported by everybody.
ALLOWED = {
    "permutations": set[str](),
    "topologies": {"permutations"},
    "trees": {"permutations", "topologies"},
    "checkers": {"permutations", "topologies"},
    "convert": {"permutations", "topologies", "trees"},
    "drawing": {"permutations", "topologies", "trees"},
    "collectives": {"permutations", "topologies", "trees"},
    "simulator": {"permutations", "topologies", "trees", "collectives"},
    "costs": {"permutations", "topologies", "trees", "collectives", "simulator"},
    "graph": {"permutations", "topologies", "trees", "collectives", "connections", "settings"},
    "claims": {
        "permutations",
        "topologies",
        "trees",
        "checkers",
        "collectives",
        "simulator",
        "costs",
    },
    "runs": {
        "permutations",
        "topologies",
        "trees",
        "collectives",
        "simulator",
        "costs",
        "claims",
        "resources",
    },
    "local": {"settings", "connections", "graph", "runs"},
}
MATHEMATICS = (
    "permutations",
    "topologies",
    "trees",
    "checkers",
    "convert",
    "drawing",
    "collectives",
    "simulator",
    "costs",
    "claims",
)
NO_MATHEMATICS = {
    "neo4j",
    "sqlalchemy",
    "alembic",
    "psycopg",
    "typer",
    "rich",
    "pydantic",
    "pydantic_settings",
    "psutil",
    "jgo",
}

MODULES = sorted(PACKAGE.rglob("*.py"))


def imported(module: Path) -> Iterator[str]:
    """The modules that a file imports, wherever the import stands."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def part(module: Path) -> str:
    """The part of the house that a file belongs to."""
    return module.relative_to(PACKAGE).with_suffix("").parts[0]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(PACKAGE)))
def test_imports_point_one_way(module: Path) -> None:
    here = part(module)
    used = {
        name.split(".")[1] for name in imported(module) if name.startswith("starcast.")
    } & ALLOWED.keys()
    assert used <= ALLOWED.get(here, set(ALLOWED)) | {here}


@pytest.mark.parametrize("name", MATHEMATICS)
def test_the_mathematics_knows_no_database_and_no_terminal(name: str) -> None:
    modules = [module for module in MODULES if part(module) == name]
    assert modules
    used = {name.split(".")[0] for module in modules for name in imported(module)}
    assert not used & NO_MATHEMATICS


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(PACKAGE)))
def test_no_module_is_longer_than_four_hundred_lines(module: Path) -> None:
    assert len(module.read_text(encoding="utf-8").splitlines()) <= 400


def test_no_file_names_a_package_registry() -> None:
    """Registries are the clients' business; a mirror is a setting."""
    hosts = re.compile(
        "|".join(
            (
                r"repo1?\.ma" + "ven",
                r"pypi\." + "org",
                "pythonho" + "sted",
                r"registry\.np" + "m",
                "crates" + r"\.io",
            )
        )
    )
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    files = [ROOT / name for name in listed if name and (ROOT / name).is_file()]
    assert len(files) > 50
    named = [
        str(file)
        for file in files
        if hosts.search(file.read_text(encoding="utf-8", errors="replace"))
    ]
    assert named == []


def test_every_public_module_function_and_class_is_documented() -> None:
    for module in MODULES:
        tree = ast.parse(module.read_text(encoding="utf-8"))
        public = [
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
        ]
        missing = [node.name for node in public if not ast.get_docstring(node)]
        assert not missing, f"{module.relative_to(PACKAGE)}: {missing}"
        assert ast.get_docstring(tree) or not tree.body, module
