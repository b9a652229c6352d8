"""``python -m campaign`` or ``make campaign``: inject random faults for some minutes.

Every action is recorded in a journal. The campaign starts its own embedded stack (Neo4j and
PostgreSQL). If root runs the campaign, the stack is on a small in-memory file system, so that
actions can fill the disk. The exit code is 1 if an invariant was violated.
"""

import argparse
import json
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import count
from pathlib import Path

from campaign.actions import KINDS, choose, perform, summarize
from campaign.disk import memory_disk
from campaign.servers import Servers, embedded_servers
from starcast.cli.output import reporter
from starcast.embedded import stack
from starcast.support.installation import PREFIX
from starcast.support.progress import Silent, sigterm_as_interrupt
from starcast.support.settings import Settings
from support.fix_servers import QUICK_OPTIONS

_DISK = "3g"


def main() -> int:
    """Run a campaign; return the exit code."""
    options = _parse_options()
    os.environ.setdefault(f"{PREFIX}NEO4J_JAVA_OPTIONS", QUICK_OPTIONS)
    kinds = options.kinds.split(",") if options.kinds else list(KINDS)
    with sigterm_as_interrupt(), tempfile.TemporaryDirectory(prefix="starcast-campaign-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL may run as another user
        with memory_disk(folder, _DISK) as is_own, _running(folder) as servers:
            if not is_own:
                kinds = [kind for kind in kinds if not KINDS[kind].needs_home]
            return _run(servers, options, kinds)


def _run(servers: Servers, options: argparse.Namespace, kinds: list[str]) -> int:
    servers.prepare()
    end = time.monotonic() + 60 * options.minutes
    print(f"seed {options.seed}, journal {options.journal}", flush=True)
    entries = []
    numbers: Iterable[int] = count() if options.action is None else [options.action]
    options.journal.parent.mkdir(parents=True, exist_ok=True)
    with options.journal.open("a", encoding="utf-8") as journal:
        try:
            for number in numbers:
                if time.monotonic() > end:
                    break
                assert servers.home is not None
                servers = embedded_servers(servers.home, servers.folder)
                entry = perform(servers, options.seed, number, choose(options.seed, number, kinds))
                entries.append(entry)
                print(json.dumps(asdict(entry), ensure_ascii=False), file=journal, flush=True)
                for problem in entry.problems:
                    print(f"{number}, {entry.kind}: {problem}", flush=True)
        finally:
            print("\n".join(summarize(entries)), flush=True)
    return int(any(entry.problems for entry in entries))


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="campaign", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--journal", type=Path, default=Path("campaign.jsonl"))
    parser.add_argument("--kinds", default="", help=f"comma-separated, from: {', '.join(KINDS)}")
    parser.add_argument("--action", type=int, help="repeat only the action with this number")
    return parser.parse_args()


@contextmanager
def _running(folder: Path) -> Iterator[Servers]:
    """Start an empty embedded stack, yield its servers, and stop it at the end."""
    home = folder / "home"
    files = folder / "files"
    files.mkdir()
    stack.up(Settings.load(home=home), reporter())
    try:
        yield embedded_servers(home, files)
    finally:
        stack.down(home, Silent())


if __name__ == "__main__":
    sys.exit(main())
