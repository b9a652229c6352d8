"""Groups of tests, as markers: each test belongs to one, which follows from where its module is.

`make test` runs the groups without servers next to those with servers, on one stack; `make sweep`
runs each group as a job of its own (``pytest -m GROUP``). A new folder of tests has to be added
here: a test without a group would not run.
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
    "compose": "cli",
    "campaign": "cli",
}
#: Modules of tests/stores in another group, by the beginning of their names. Those of `runs` mostly
#: wait for servers that start and stop; those of `packs` need no PostgreSQL.
STORES = {
    "test_graph_": "packs",
    "test_claim_runs": "runs",
    "test_database": "runs",
    "test_experiments": "runs",
    "test_offline": "runs",
    "test_repository": "runs",
    "test_stack": "runs",
}

GROUPS = {*FOLDERS.values(), *STORES.values()}


def group(path: Path) -> str:
    """Return the group of a test module.

    Raises:
        pytest.UsageError: no group is known for the module's folder.
    """
    folder = path.relative_to(TESTS).parts[0]
    if folder == "stores":
        for prefix, name in STORES.items():
            if path.name.startswith(prefix):
                return name
    if folder not in FOLDERS:
        raise pytest.UsageError(f"{path} belongs to no group of tests: add it to {__file__}")
    return FOLDERS[folder]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the modules of other groups without importing them, if `-m` names groups only."""
    selected = set(config.option.markexpr.split(" or "))
    if not selected <= GROUPS or not collection_path.match("test_*.py"):
        return None
    return True if group(collection_path) not in selected else None


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test with its group."""
    for item in items:
        item.add_marker(group(item.path))
