"""Full disks: of an output file or folder, and of the home of the embedded servers."""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from campaign import commands
from campaign.output import Done, find_problems
from campaign.servers import Servers

_KB = 1024
_OUTPUTS = (
    ("forest", "build", "S7", "multiple", "--out", "new.npz"),
    ("forest", "build", "S7", "edge-disjoint", "--out", "old.npz"),
    ("forest", "draw", "S5", "multiple", "--out", "new.svg"),
    ("claims", "report", "--out", "new.html"),
    ("compare", "baseline", "baseline", "--out", "new.html"),
    ("export", "files"),
    ("export", "files", "S6", "--trees", "multiple"),
)
_SETTLED = {0, 2, 3, 7}


def full_output(servers: Servers, draw: Random) -> tuple[str, str, list[str]]:
    """Write an output to a disk that may be too small: it is complete, or nothing changes.

    As root the disk is a small file system in memory; else the size of files is limited.

    Returns:
        Description, result and problems.
    """
    words = draw.choice(_OUTPUTS)
    kilobytes = int(2 ** draw.uniform(2, 12))
    with tempfile.TemporaryDirectory(dir=servers.folder) as name, _small(Path(name), kilobytes):
        folder = Path(name)
        (folder / "old.npz").write_bytes(b"old")
        before = set(folder.iterdir())
        done = _run(servers, words, folder, kilobytes)
        problems = find_problems(done)
        if done.code not in _SETTLED:
            problems.append(f"exit code {done.code}: {done.err[-300:]}")
        appeared = sorted(path.name for path in set(folder.iterdir()) - before)
        if done.code and appeared:
            problems.append(f"it failed and left {', '.join(appeared)}")
        if done.code and (folder / "old.npz").read_bytes() != b"old":
            problems.append("it failed and changed the old file")
    return f"{kilobytes} kB for {' '.join(words)}", done.result, problems


@contextmanager
def _small(folder: Path, kilobytes: int) -> Iterator[None]:
    if os.geteuid():
        yield
        return
    options = f"size={kilobytes}k,mode=755"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], check=False)
    try:
        yield
    finally:
        if not mounted.returncode:
            subprocess.run(["umount", folder], check=True)


def _run(servers: Servers, words: tuple[str, ...], folder: Path, kilobytes: int) -> Done:
    limit = kilobytes * _KB

    def restrict() -> None:
        if os.geteuid():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        [sys.executable, "-m", "starcast.cli.app", *words],
        env=servers.environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=restrict,
    )
    return Done(words, done.returncode, done.stdout, done.stderr)


def full_home(servers: Servers, draw: Random) -> tuple[str, str, list[str]]:
    """Fill the disk of the embedded servers during a command; with space again all is there.

    The home must be on a disk of its own, a small file system in memory.

    Returns:
        Description, result and problems.
    """
    assert servers.home is not None
    baseline = servers.snapshot()
    words = commands.change(draw, embedded=True)
    free = os.statvfs(servers.home)
    left = int(2 ** draw.uniform(0, 5)) * _KB * _KB
    ballast = servers.home / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, free.f_bavail * free.f_frsize - left))
    try:
        done = servers.run(*words)
    finally:
        ballast.unlink()
    problems = find_problems(done)
    servers = servers.recovered()
    problems += servers.find_problems(baseline, finished=False)
    problems += servers.finish_work([words])
    problems += servers.find_problems(baseline, finished=True)
    return f"{left // _KB // _KB} MB for {' '.join(words)}", done.result, problems
