"""The trace event format of Chrome, which Perfetto displays: nodes as processes, ports as threads.

Reference: the document "Trace Event Format" of the Chromium project.
"""

import json
from collections.abc import Iterator

from starcast.collectives import Schedule
from starcast.costs import Machine
from starcast.formats.packets import find_packets, time_packets
from starcast.simulator import Simulation


def write_chrome_trace(
    schedule: Schedule, simulation: Simulation, machine: Machine, unit_bytes: int
) -> Iterator[str]:
    """Yield a trace with one complete event per packet, from its start to its end.

    One unit of time of T_s and T_c is displayed as a microsecond.
    """
    labels = schedule.topology.labels().tolist()
    about = {
        "schedule": schedule.id,
        "unit_bytes": unit_bytes,
        "t_s": str(machine.t_s),
        "t_c": str(machine.t_c),
        "execution": "synchronous",
    }
    yield f'{{"displayTimeUnit": "ns", "otherData": {json.dumps(about)}, "traceEvents": ['
    separator = "\n"
    for event in _name_events(schedule, labels):
        yield separator + json.dumps(event)
        separator = ",\n"
    packets = find_packets(schedule)
    columns = (packets.step, packets.sender, packets.port, packets.receiver, packets.bounds[:-1])
    times = time_packets(packets, simulation, machine, unit_bytes)
    values = (column.tolist() for column in (*columns, packets.bounds[1:], *times))
    for step, sender, port, receiver, first, end, start, duration in zip(*values, strict=True):
        event = {
            "ph": "X",
            "name": f"to {labels[receiver]}",
            "cat": "packet",
            "pid": sender,
            "tid": port,
            "ts": start,
            "dur": duration,
            "args": {
                "step": step,
                "units": schedule.unit[first:end].tolist(),
                "trees": schedule.tree[first:end].tolist(),
            },
        }
        yield separator + json.dumps(event)
    yield "\n]}\n"


def _name_events(schedule: Schedule, labels: list[str]) -> Iterator[dict[str, object]]:
    for rank, label in enumerate(labels):
        yield {"ph": "M", "name": "process_name", "pid": rank, "args": {"name": label}}
        yield {"ph": "M", "name": "process_sort_index", "pid": rank, "args": {"sort_index": rank}}
        for port in schedule.topology.ports:
            args = {"name": f"port {port}"}
            yield {"ph": "M", "name": "thread_name", "pid": rank, "tid": port, "args": args}
