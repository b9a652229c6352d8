"""What every test may ask for; the fixtures themselves stand in plugins, one a concern."""

import signal

pytest_plugins = [
    "support.fix_servers",
    "support.fix_store",
    "support.fix_graph",
    "support.fix_cli",
]

# A shell lets what it starts in the background ignore Ctrl-C, and so would all that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
