"""Every test module belongs to exactly one group, and the Makefile runs every group."""

import re

import pytest

from support.markers import GROUPS, TESTS, group


def test_every_test_module_belongs_to_a_known_group_of_tests() -> None:
    modules = list(TESTS.rglob("test_*.py"))
    assert len(modules) > 100
    assert {group(module) for module in modules} == GROUPS


def test_a_test_module_in_an_unknown_folder_is_an_error() -> None:
    with pytest.raises(pytest.UsageError, match="belongs to no group"):
        group(TESTS / "elsewhere" / "test_x.py")


def test_every_group_of_tests_is_declared_as_a_marker_and_run_by_the_makefile(
    pytestconfig: pytest.Config,
) -> None:
    declared = {marker.split(":")[0] for marker in pytestconfig.getini("markers")}
    assert declared >= GROUPS
    makefile = (TESTS.parent / "Makefile").read_text(encoding="utf-8")
    (jobs,) = re.findall(r"^GROUPS := (.*)$", makefile, re.MULTILINE)
    assert set(jobs.split()) == GROUPS
