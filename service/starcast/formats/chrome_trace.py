"""Export to Chrome's trace event format, which Perfetto displays.

Nodes are shown as processes, and ports as threads.

Reference: the document "Trace Event Format" of the Chromium project.
"""

import json
from collections.abc import Iterator, Mapping

import numpy as np

from starcast.collectives import Schedule
from starcast.judges.simulator import Timing
from starcast.judges.simulator.rows import Rows


def write_chrome_trace(
    rows: Rows, timing: Timing, parameters: Mapping[str, object]
) -> Iterator[str]:
    """Yield the parts of a trace with one event per packet, from its start to its end.

    The time unit of T_s and T_c is displayed as one microsecond.

    Args:
        rows: the rows of all sources, in the order of packets.
        timing: the times of the packets.
        parameters: the values that determine the times, such as T_s, by name.
    """
    schedule = rows.schedule
    labels = schedule.topology.labels().tolist()
    about = {"schedule": schedule.id, **parameters, "execution": timing.execution}
    yield f'{{"displayTimeUnit": "ns", "otherData": {json.dumps(about)}, "traceEvents": ['
    # Events are written one by one, because the text of a large trace may not fit into memory.
    separator = "\n"
    for event in _name_events(schedule, labels):
        yield separator + json.dumps(event)
        separator = ",\n"
    packets = timing.packets
    begin = np.cumsum(packets.units) - packets.units
    columns = (packets.step, packets.sender, packets.port, packets.receiver)
    # JSON has no fractions, so times are rounded to floats; viewers do not need exact times.
    times = (packets.start.astype(float), (packets.end - packets.start).astype(float))
    values = (column.tolist() for column in (*columns, begin, begin + packets.units, *times))
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
                "units": rows.unit[first:end].tolist(),
                "trees": rows.tree[first:end].tolist(),
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
