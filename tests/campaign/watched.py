"""The peak memory and the CPU time of a command."""

import re
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from campaign.output import Done
from campaign.servers import Servers, finish

#: Limit in bytes for the memory of a watched command, so that it cannot exhaust the machine's.
_MAX_DATA = 4_000_000_000
_INTERVAL = 0.05


@dataclass(frozen=True)
class Watched:
    """A command that has ended.

    Attributes:
        done: its exit code and output.
        peak: its largest resident memory in bytes.
        seconds: its CPU time.
    """

    done: Done
    peak: int
    seconds: float


def run_watched(servers: Servers, words: tuple[str, ...], deadline: float) -> Watched:
    """Run a command until it ends or its deadline passes."""
    process = servers.start(*words)
    watched = psutil.Process(process.pid)
    watched.rlimit(psutil.RLIMIT_DATA, (_MAX_DATA, _MAX_DATA))
    peak, seconds = 0, 0.0
    end = time.monotonic() + deadline
    # The output fits into the buffer of a pipe, so it need not be read before the end.
    while process.poll() is None and time.monotonic() < end:
        peak = max(peak, read_peak(process.pid))
        with suppress(psutil.Error):
            times = watched.cpu_times()
            seconds = times.user + times.system
        with suppress(subprocess.TimeoutExpired):
            process.wait(_INTERVAL)
    return Watched(finish(process, words, 1), peak, seconds)


def read_peak(pid: int) -> int:
    """Return the peak resident memory of a process in bytes, or 0 if it has ended."""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        if found := re.search(r"VmHWM:\s+(\d+) kB", status):
            return int(found[1]) * 1024
    return 0
