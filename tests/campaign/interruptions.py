"""Interrupted commands: kills at random moments, faulty connections, and concurrent commands."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from random import Random

import psutil

from campaign import commands
from campaign.output import Done, Outcome, find_problems
from campaign.proxy import FAULTS, Proxy
from campaign.servers import Servers, children_of, finish
from support.workers import workers_of

#: Deadlines in seconds for a killed command, and for a command that runs next to others.
DEADLINE, LONG_DEADLINE = 120, 300
_WAYS = {"kill": 5, "terminate": 2, "interrupt": 2, "kill a worker": 4, "kill group": 1}
_SIGNALS: dict[str, tuple[Callable[[int, int], None], signal.Signals]] = {
    "kill": (os.kill, signal.SIGKILL),
    "terminate": (os.kill, signal.SIGTERM),
    "interrupt": (os.killpg, signal.SIGINT),
    "kill group": (os.killpg, signal.SIGKILL),
}


def kill(servers: Servers, draw: Random) -> Outcome:
    """Kill or interrupt a command, or kill its worker; finish the work and compare the stores."""
    baseline = servers.snapshot()
    words = commands.change(draw, embedded=servers.home is not None)
    way = draw.choices(list(_WAYS), list(_WAYS.values()))[0]
    if way == "kill a worker" and words[0] not in {"experiment", "claims"}:
        words = draw.choice((commands.experiment, commands.claims))(draw)
    busy = draw.uniform(0.3, 1.6)
    moment = draw.uniform(0, 1.5)
    process = servers.start(*words)
    _wait_until_busy(process, busy, for_worker=way == "kill a worker")
    time.sleep(moment)
    children = children_of(process.pid)
    sent = _strike(process.pid, way, draw)
    done = finish(process, words, DEADLINE)
    problems = find_problems(_without_start(done), signals=sent)
    _, alive = psutil.wait_procs(children, timeout=DEADLINE)
    problems += [f"the process {child.pid} of the command is still running" for child in alive]
    servers = servers.recovered()
    problems += servers.check_recovery(baseline, [words])
    description = f"{way} {moment:.2f} s after {busy:.2f} s of work: {' '.join(words)}"
    return description, done.result, problems


def _wait_until_busy(process: subprocess.Popen[str], seconds: float, *, for_worker: bool) -> None:
    """Wait until a command has used the given number of seconds of CPU time.

    If ``for_worker`` is true, wait until the command has started a worker instead. In both cases,
    also return when the command has ended, or after ``DEADLINE`` seconds.
    """
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end and process.poll() is None:
        with suppress(psutil.NoSuchProcess):
            times = psutil.Process(process.pid).cpu_times()
            if workers_of(process.pid) if for_worker else times.user + times.system > seconds:
                return
        time.sleep(0.02)


def _strike(pid: int, way: str, draw: Random) -> frozenset[int]:
    """Send a signal to the command, or kill a worker; return the signals sent to the command."""
    with suppress(ProcessLookupError, psutil.NoSuchProcess):
        if way in _SIGNALS:
            send, number = _SIGNALS[way]
            send(pid, number)
            return frozenset({number})
        if workers := workers_of(pid):
            draw.choice(workers).kill()
    return frozenset()


def _without_start(done: Done) -> Done:
    """Return the command, but without its stderr if Ctrl-C interrupted an import.

    Python then prints a traceback, which starcast cannot prevent.
    """
    is_import = "KeyboardInterrupt" in done.err and "<frozen importlib" in done.err
    return Done(done.words, done.code, done.out, "") if is_import else done


def connection_fault(servers: Servers, draw: Random) -> Outcome:
    """Run a command over a faulty connection, then finish its work without the proxy."""
    baseline = servers.snapshot()
    is_bolt = draw.random() < 0.5
    words = commands.use(draw, bolt=is_bolt)
    fault = draw.choice(FAULTS)
    # The fault must come early, since an ingest of S5 receives only about 10 kB from each server.
    after = int(2 ** draw.uniform(0, 14))
    seconds = {"delay": 0.02, "stall": draw.uniform(1, 8)}.get(fault, 0.0)
    port = int(servers.address.uri.rpartition(":")[2]) if is_bolt else servers.url.port
    proxy = Proxy(port or 0, fault, after, seconds)
    ports = {"neo4j_port": proxy.port} if is_bolt else {"postgres_port": proxy.port}
    try:
        done = servers.run(*words, environment=servers.addresses(**ports), deadline=2 * DEADLINE)
    finally:
        proxy.close()
    problems = find_problems(done)
    problems += servers.check_recovery(baseline, [words])
    protocol = "Bolt" if is_bolt else "PostgreSQL"
    return f"{protocol}, {fault} after {after} bytes: {' '.join(words)}", done.result, problems


def crowd(servers: Servers, draw: Random, size: int = 6) -> Outcome:
    """Start several commands at once; each must end as documented, and the stores must agree."""
    baseline = servers.snapshot()
    chosen = [
        (commands.change if draw.random() < 0.7 else commands.read)(draw) for _ in range(size)
    ]
    running = [(servers.start(*words), words) for words in chosen]
    ended = [finish(process, words, LONG_DEADLINE) for process, words in running]
    problems = []
    for done in ended:
        problems += [f"{' '.join(done.words)}: {text}" for text in find_problems(done)]
    problems += servers.check_recovery(baseline, chosen)
    result = ", ".join(sorted({done.result for done in ended}))
    return "; ".join(" ".join(words) for words in chosen), result, problems
