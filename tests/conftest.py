"""Pytest plugins, and the choice of the test cases that `make test` runs.

``pytest --sweep`` runs everything. Without it

* a parametrised test keeps two cases: its first, which is the smallest, and one chosen by a hash
  of the test's name, so that every commit runs the same cases;
* a test marked ``whole`` keeps all its cases;
* a test or case marked ``slow`` does not run;
* property tests try fewer examples, and numba's kernels are interpreted.

If a test is named on the command line (``tests/unit/test_x.py::test_y``), all its cases run, and
also those marked ``slow``.
"""

import gc
import os
import signal
import zlib
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from starcast.catalogue import packs
from support.examples import SWEEP_EXAMPLES

pytest_plugins = [
    "support.fix_servers",
    "support.fix_cli",
    "support.fix_store",
    "support.fix_graph",
    "support.fix_pgbouncer",
    "support.fix_plugins",
    "support.fix_simgrid",
    "support.fix_lab",
    "support.fix_browser",
    "support.markers",
]

# Make the paper modules importable as `starcast_papers`, which is not on the import path.
packs.shipped()

#: Hypothesis's time limit per example is off, since the machine can be slow.
settings.register_profile(
    "sweep",
    deadline=None,
    max_examples=SWEEP_EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow],
)
# `derandomize` makes every run try the same examples.
settings.register_profile("quick", settings.get_profile("sweep"), max_examples=10, derandomize=True)

# A shell makes background processes ignore Ctrl-C. Programs started by tests would inherit this.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that chooses the cases."""
    group = parser.getgroup("starcast")
    group.addoption("--sweep", action="store_true", help="run all cases and the tests marked slow")


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples a property test tries, and whether numba compiles."""
    if config.option.sweep:
        settings.load_profile("sweep")
        return
    settings.load_profile("quick")
    # On small graphs, compiling numba's kernels takes longer than interpreting them. The kernels
    # compute modulo 256; only the interpreter warns of the overflow.
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    config.addinivalue_line("filterwarnings", "ignore:overflow encountered:RuntimeWarning:starcast")


def pytest_report_header(config: pytest.Config) -> str:
    """Return the header line that says how the cases are chosen."""
    if config.option.sweep:
        return "cases: all"
    return "cases: two of each test; --sweep runs all"


def _runs_whole(config: pytest.Config) -> bool:
    return config.option.sweep or any("::" in argument for argument in config.args)


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Generator[None, None, None]:
    """Reduce each parametrised test to two cases, before pytest creates an item for each case."""
    yield
    if _runs_whole(metafunc.config) or metafunc.definition.get_closest_marker("whole"):
        return
    quick_calls = [
        call for call in metafunc._calls if all(mark.name != "slow" for mark in call.marks)
    ]
    # If all cases are slow, keep them: they are deselected later. Without any case, pytest would
    # call the function without its parameters.
    if quick_calls:
        first, *others = quick_calls
        number = zlib.crc32(metafunc.definition.name.encode())
        drawn = [others[number % len(others)]] if others else []
        metafunc._calls = [first, *drawn]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests and cases marked slow."""
    if _runs_whole(config):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    items[:] = [item for item in items if not item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=slow)


def pytest_collection_finish() -> None:
    """Exclude the modules and the thousands of collected tests from garbage collection."""
    gc.collect()
    gc.freeze()
