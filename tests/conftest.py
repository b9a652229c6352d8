"""Plugins of all tests; each holds the fixtures of one concern."""

import gc
import signal

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

# A shell makes background processes ignore Ctrl-C, and everything that the tests start would too.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Keep the modules and the thousands of collected tests out of every garbage collection."""
    gc.collect()
    gc.freeze()
