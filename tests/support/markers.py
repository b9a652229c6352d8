"""Pytest markers for groups of tests: each folder below `tests` with test modules is a group.

`make test` runs the groups that need no server in parallel with those that need servers; `make
sweep` runs each group as a separate job (``pytest -m GROUP``).
"""

from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

GROUPS = {"unit", "claims", "packs", "stores", "runs", "cli", "docs"}


def group(path: Path) -> str:
    """Return the group of a test module.

    Raises:
        pytest.UsageError: the module's folder is not a group, so no job would run it.
    """
    folder = path.relative_to(TESTS).parts[0]
    if folder not in GROUPS:
        raise pytest.UsageError(f"{path} belongs to no group of tests: move it to a group's folder")
    return folder


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the modules of other groups without importing them, if `-m` consists of group names."""
    selected = set(config.option.markexpr.split(" or "))
    if not selected <= GROUPS or not collection_path.match("test_*.py"):
        return None
    return True if group(collection_path) not in selected else None


@pytest.hookimpl(tryfirst=True)  # runs before `-m` selects tests
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test with its group."""
    for item in items:
        item.add_marker(group(item.path))
