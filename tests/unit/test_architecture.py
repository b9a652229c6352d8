"""Rules for the source code, such as the imports that a package may use, and unique names."""

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "service" / "starcast"
MODULES = sorted(PACKAGE.rglob("*.py"))

#: Packages that the simulator and the tree checkers may import. Even from these packages, the
#: simulator and the checkers must not import the code whose results they check.
INDEPENDENT = {
    "starcast.judges.simulator": {"support", "topologies", "collectives", "judges"},
    "starcast.records.checkers": {"support", "topologies", "records"},
}

#: Libraries that the mathematical packages and the claims must not import.
SERVICE_LIBRARIES = """
    alembic fastapi jgo neo4j psutil psycopg pydantic pydantic_settings rich sqlalchemy starlette
    typer uvicorn
"""
#: The only modules of the mathematical packages and of `claims` that may import pydantic: they
#: validate files, which are user input.
FILE_SCHEMAS = {
    "starcast.records.model",
    "starcast.claims.pack_file",
    "starcast.formats.mscclpp_plan",
    "starcast.topologies.network_records",
}
#: The only modules of `claims` that may use the database: they store and list verification runs.
CLAIMS_IN_DATABASE = {
    "starcast.claims.storage",
    "starcast.claims.report",
}


def module_name(path: Path) -> str:
    """Return the dotted name of a source file.

    An `__init__` file has the name of its package.
    """
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part(name: str) -> str:
    """Return the part of starcast to which a module belongs: a package or a top-level module."""
    return name.split(".")[1] if "." in name else "__init__"


NAMES = {module_name(path): path for path in MODULES}
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}
PARTS = {part(name) for name in NAMES} - {"__init__", "__main__"}
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")


@cache
def imports(name: str) -> frozenset[str]:
    """Return the modules that a module imports, including imports in functions and for type checks.

    `from package import name` imports the submodule of that name, or else the package's `__init__`.
    """
    return frozenset(_imports(TREES[NAMES[name]]))


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, "relative imports hide the order of the packages"
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield submodule if submodule in NAMES else node.module


(DIAGRAM,) = re.findall(r"```text\n(interfaces .*?)```", PAGE, re.DOTALL)
#: The line of `DIAGRAM`, counted from 0, that names each package.
LINE = {
    word: number
    for number, line in enumerate(DIAGRAM.splitlines())
    for word in re.findall(r"\w+", line)
    if word in PARTS
}
#: The mathematical packages: those on the lines of `DIAGRAM` from `search` to above `support`.
MATHEMATICS = {part for part, line in LINE.items() if LINE["search"] <= line < LINE["support"]}


def test_the_package_diagram_shows_every_package() -> None:
    assert LINE.keys() == PARTS
    named = set(re.findall(r"`(\w+)(?:\.py|/)", PAGE.partition("| package |")[2]))
    assert named >= PARTS


def test_packages_import_only_packages_below_them_in_the_diagram() -> None:
    wrong = []
    for name in NAMES:
        own = part(name)
        used = {part(module) for module in imports(name) if module.split(".")[0] == "starcast"}
        for independent, allowed in INDEPENDENT.items():
            if name.startswith(independent):
                wrong += [f"{name} imports {other}" for other in used - allowed]
        if own in PARTS:
            lower = {other for other in PARTS if LINE[other] > LINE[own]}
            wrong += [f"{name} imports {other}" for other in used - lower - {own}]
    assert wrong == []


def test_there_are_no_import_cycles() -> None:
    graph = nx.DiGraph()
    for name in NAMES:
        graph.add_edges_from((name, module) for module in imports(name) & NAMES.keys() - {name})
    components = nx.strongly_connected_components(graph)
    assert [sorted(component) for component in components if len(component) > 1] == []


def test_the_mathematical_packages_import_no_database_terminal_or_web_library() -> None:
    """Two modules of `claims` may use the database. Modules that check files may use pydantic."""
    wrong = []
    for name in NAMES:
        if part(name) in {*MATHEMATICS, "claims"} and name not in CLAIMS_IN_DATABASE:
            used = {package for module in imports(name) for package in module.split(".")[:2]}
            forbidden = {*SERVICE_LIBRARIES.split(), "stores"}
            if name in FILE_SCHEMAS:
                forbidden.remove("pydantic")
            wrong += [f"{name} imports {other}" for other in used & forbidden]
    assert wrong == []


def test_paper_modules_import_only_mathematics_and_claims_and_are_not_imported() -> None:
    """No module of starcast imports a module of the folder `papers`."""
    for name in NAMES:
        assert not {module for module in imports(name) if "papers" in module.split(".")[0]}, name
    above = {part for part in PARTS if LINE[part] <= LINE["stores"]} - {"claims"}
    for path in (ROOT / "papers").rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        used = {
            node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level
        }
        assert not {module for module in used if part(str(module)) in above}, path


def test_oracles_and_second_implementations_do_not_import_starcast() -> None:
    tests = ROOT / "tests"
    paths = [*tests.glob("oracles/*.py"), *tests.glob("claims/second_implementation*.py")]
    assert len(paths) > 20
    for path in paths:
        imported = set(_imports(ast.parse(path.read_text(encoding="utf-8"))))
        assert not {name for name in imported if name.startswith("starcast")}, path


def test_no_public_name_of_a_package_hides_one_of_its_modules() -> None:
    """`import starcast.trees.x as m` must give the module x, not a function of that name."""
    for path in PACKAGE.rglob("__init__.py"):
        modules = {module.stem for module in path.parent.glob("[!_]*.py")}
        modules |= {folder.name for folder in path.parent.iterdir() if folder.is_dir()}
        hidden = set[str]()
        for node in ast.walk(TREES[path]):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                hidden.add(node.name)
            elif isinstance(node, ast.ImportFrom):
                submodule = node.module in NAMES and node.module != module_name(path)
                hidden |= {alias.asname or alias.name for alias in node.names if submodule}
        assert not hidden & modules, path


def _meanings() -> dict[str, set[str]]:
    """Return the modules that define each public class, and the values of each type alias.

    An alias such as `Base = columns.Base` is omitted, because it only imports a name. The type
    aliases are plain assignments, because a `type` statement needs Python 3.12.
    """
    meanings = defaultdict[str, set[str]](set)
    for name, path in NAMES.items():
        for node in TREES[path].body:
            if isinstance(node, ast.ClassDef):
                meanings[node.name].add(f"class of {name}")
            elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
                target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
                alias, value = ast.unparse(target), ast.unparse(node.value)
                if re.fullmatch(r"[A-Z]\w*[a-z]\w*", alias) and not value.endswith(f".{alias}"):
                    meanings[alias].add(value)
    return {name: found for name, found in meanings.items() if not name.startswith("_")}


def test_no_class_name_is_used_in_three_modules() -> None:
    assert {name: found for name, found in _meanings().items() if len(found) > 2} == {}


def test_the_name_of_a_type_alias_has_no_second_meaning() -> None:
    """Aliases with the same name must have the same value, and no class may have their name."""
    wrong = {}
    for name, found in _meanings().items():
        only_classes = all(meaning.startswith("class of ") for meaning in found)
        if len(found) > 1 and not only_classes:
            wrong[name] = found
    assert wrong == {}


def test_no_file_contains_the_host_name_of_a_package_registry() -> None:
    """Package managers use their default registries. Users specify mirrors in a setting."""
    # The brackets prevent the pattern from matching this line.
    hosts = r"repo1?\.mave[n]|pypi\.or[g]|pythonhoste[d]|registry\.np[m]|crates\.i[o]"
    command = ["git", "grep", "--extended-regexp", "--text", "--files-with-matches", hosts]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (1, "")  # exit code of git grep without a match
