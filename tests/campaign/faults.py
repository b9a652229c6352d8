"""Connection faults: commands reach Neo4j or PostgreSQL through a faulty proxy."""

from random import Random

from campaign import commands
from campaign.output import find_problems
from campaign.proxy import FAULTS, Proxy
from campaign.servers import Servers

#: Seconds after which a command must have ended, whatever the connection does.
DEADLINE = 240


def connection_fault(servers: Servers, draw: Random) -> tuple[str, str, list[str]]:
    """Run a command over a faulty connection, then finish its work without the proxy.

    Returns:
        Description, result and problems.
    """
    baseline = servers.snapshot()
    is_bolt = draw.random() < 0.5
    words = commands.use(draw, bolt=is_bolt)
    fault = draw.choice(FAULTS)
    # The fault must come early, since an ingest of S5 receives only some 10 kB from each server.
    after = int(2 ** draw.uniform(0, 14))
    seconds = {"delay": 0.02, "stall": draw.uniform(1, 8)}.get(fault, 0.0)
    port = int(servers.address.uri.rpartition(":")[2]) if is_bolt else servers.url.port
    proxy = Proxy(port or 0, fault, after, seconds)
    ports = {"neo4j_port": proxy.port} if is_bolt else {"postgres_port": proxy.port}
    try:
        done = servers.run(*words, environment=servers.addresses(**ports), deadline=DEADLINE)
    finally:
        proxy.close()
    problems = find_problems(done)
    problems += servers.find_problems(baseline, finished=False)
    problems += servers.finish_work([words])
    problems += servers.find_problems(baseline, finished=True)
    protocol = "Bolt" if is_bolt else "PostgreSQL"
    return f"{protocol}, {fault} after {after} bytes: {' '.join(words)}", done.result, problems
