"""Pytest markers for groups of tests: the location of a module determines its group.

`make test` runs the groups that need no server in parallel with those that share one stack; `make
sweep` runs each group as a separate job (``pytest -m GROUP``). Every new folder of tests must be
added here, since a test without a group would not run.
"""

from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

#: The group of each folder.
FOLDERS = {
    "docs": "docs",
    "web": "docs",
    "wheel": "docs",
    "unit": "unit",
    "claims": "claims",
    "packs": "packs",
    "stores": "stores",
    "cli": "cli",
    "compose": "unit",
    "campaign": "cli",
}
#: Modules in another group than their folder, by the beginning of their paths. Tests in `runs`
#: mostly wait for servers to start and stop, those in `packs` need no PostgreSQL, and those in
#: `unit` need no server.
MODULES = {
    "cli/test_app": "unit",
    "cli/test_cost": "unit",
    "cli/test_draw": "unit",
    "cli/test_flags": "unit",
    "cli/test_forest": "unit",
    "cli/test_formats": "unit",
    "cli/test_output": "unit",
    "cli/test_schedule": "unit",
    "cli/test_search": "unit",
    "cli/test_serve": "unit",
    "stores/test_graph_": "packs",
    "stores/test_claim_runs": "runs",
    "stores/test_database": "runs",
    "stores/test_experiments": "runs",
    "stores/test_offline": "runs",
    "stores/test_repository": "runs",
    "stores/test_stack": "runs",
}

GROUPS = {*FOLDERS.values(), *MODULES.values()}


def group(path: Path) -> str:
    """Return the group of a test module.

    Raises:
        pytest.UsageError: no group is known for the module's folder.
    """
    module = path.relative_to(TESTS)
    for prefix, name in MODULES.items():
        if module.as_posix().startswith(prefix):
            return name
    if module.parts[0] not in FOLDERS:
        raise pytest.UsageError(f"{path} belongs to no group of tests: add it to {__file__}")
    return FOLDERS[module.parts[0]]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the modules of other groups without importing them, if `-m` consists of group names."""
    selected = set(config.option.markexpr.split(" or "))
    if not selected <= GROUPS or not collection_path.match("test_*.py"):
        return None
    return True if group(collection_path) not in selected else None


@pytest.hookimpl(tryfirst=True)  # before `-m` selects tests
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test with its group."""
    for item in items:
        item.add_marker(group(item.path))
