"""Full disks: for the output of a command, and for the home folder of the embedded servers."""

import os
import resource
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

from campaign.output import Outcome, find_problems
from campaign.servers import Servers
from starcast.support.errors import NotFoundError

_KB = 1024
_OUTPUTS = (
    ("forest", "build", "S7", "multiple", "--out", "new.npz"),
    ("forest", "build", "S7", "edge-disjoint", "--out", "old.npz"),
    ("forest", "draw", "S5", "multiple", "--out", "new.svg"),
    ("claims", "report", "--out", "new.html"),
    ("compare", "baseline", "baseline", "--out", "new.html"),
)
#: The exit codes that a command may have when it writes to a disk that may be full.
_SETTLED = {0, 2, 3, 7}


def full_output(servers: Servers, draw: Random) -> Outcome:
    """Let a command write its output to a disk that may be too small.

    A command that fails must leave the old file unchanged and no new file. If root runs the
    campaign, the disk is a small in-memory file system; otherwise the file size is limited.
    """
    words = draw.choice(_OUTPUTS)
    kilobytes = int(2 ** draw.uniform(2, 12))
    limit = kilobytes * _KB

    def restrict() -> None:
        if not is_small:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    with (
        tempfile.TemporaryDirectory(dir=servers.folder) as name,
        memory_disk(Path(name), f"{kilobytes}k") as is_small,
    ):
        folder = Path(name)
        (folder / "old.npz").write_bytes(b"old")
        before = set(folder.iterdir())
        done = servers.run(*words, cwd=folder, preexec_fn=restrict)
        problems = find_problems(done)
        if done.code not in _SETTLED:
            problems.append(f"exit code {done.code}: {done.err[-300:]}")
        appeared = sorted(path.name for path in set(folder.iterdir()) - before)
        if done.code and appeared:
            problems.append(f"the command failed and left {', '.join(appeared)}")
        if done.code and (folder / "old.npz").read_bytes() != b"old":
            problems.append("the command failed and changed the old file")
    return f"{kilobytes} kB for {' '.join(words)}", done.result, problems


@contextmanager
def memory_disk(folder: Path, size: str) -> Iterator[bool]:
    """If root runs the campaign, mount an in-memory file system; yield whether it was mounted."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "none", str(folder)]
    is_mounted = os.geteuid() == 0 and subprocess.run(command, check=False).returncode == 0
    try:
        yield is_mounted
    finally:
        if is_mounted:
            subprocess.run(["umount", "--lazy", folder], check=True)


def fill_disk(ballast: Path, left: int) -> None:
    """Fill a disk until ``left`` bytes are free, even while servers are writing to it."""
    with ballast.open("wb") as file:
        for _ in range(10):
            free = os.statvfs(ballast.parent)
            size = file.seek(0, os.SEEK_END) + free.f_bavail * free.f_frsize - left
            with suppress(OSError):
                os.posix_fallocate(file.fileno(), 0, max(1, size))
                return
    raise AssertionError(f"{ballast.parent} cannot be filled")


def full_home(servers: Servers, draw: Random) -> Outcome:
    """Run a command while the servers' disk is almost full; no stored data may be lost.

    The home folder must be on a separate disk, which is a small in-memory file system.
    """
    assert servers.home is not None
    baseline = servers.snapshot()
    spec = draw.choice(("S5", "S6"))
    words = ("ingest", spec, "--trees", "multiple,greedy")
    # Drop the topology first, so that the ingest has something to write.
    dropped = servers.run("topology", "drop", spec, "--cascade")
    assert dropped.code in {0, NotFoundError.exit_code}, dropped.err
    left = int(2 ** draw.uniform(4, 13)) * _KB
    ballast = servers.home / "ballast"
    fill_disk(ballast, left)
    try:
        done = servers.run(*words)
    finally:
        ballast.unlink()
    problems = find_problems(done)
    # A database that could not write to its disk works again only after a restart.
    servers.run("down")
    servers = servers.recovered()
    problems += servers.check_recovery(baseline, [words])
    return f"{left // _KB} kB for {' '.join(words)}", done.result, problems
