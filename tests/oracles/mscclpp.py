"""An executor of MSCCL++ plans with numbers instead of data, which shares no code with starcast.

Thread blocks are interleaved at random; no operation interrupts another one. A chunk is an array
of `PARTS` numbers; each thread block of a group moves some of these numbers. Contributions to a
sum are distinct random numbers, so that a wrong sum is noticed.

Reference: ``src/core/include/execution_kernel.hpp`` of microsoft/mscclpp.
"""

from collections import Counter, defaultdict
from functools import cache
from random import Random
from typing import Any

#: Numbers per chunk, a multiple of the size of every group of thread blocks.
PARTS = 12


@cache
def contribution(rank: int, index: int) -> int:
    """Return the number at the given index of the input of a rank."""
    return Random(1000 * rank + index).getrandbits(40)  # noqa: S311 - repeatable


def execute(plan: dict[str, Any], inputs: list[range], random: Random) -> dict[Any, int]:
    """Return the memory after all operations, by rank, buffer and index.

    Args:
        plan: the parsed plan.
        inputs: for each rank, the indices of the places in the input buffer that hold data.
        random: chooses the thread block that continues.

    Raises:
        ValueError: no thread block can continue, or an operation reads memory never written before.
    """
    memory: dict[Any, int] = {}
    for rank, indices in enumerate(inputs):
        for index in indices:
            memory[_place(plan, rank, "i", index)] = contribution(rank, index)
    signals = Counter[Any]()
    arrived: dict[Any, set[int]] = defaultdict(set)
    for gpu in plan["gpus"]:
        for number, semaphore in enumerate(gpu.get("semaphores", [])):
            signals["semaphore", gpu["id"], number] = semaphore["init_value"]
    left = [
        (gpu, number, block, list(block["ops"]))
        for gpu in plan["gpus"]
        for number, block in enumerate(gpu["threadblocks"])
    ]
    while left := [each for each in left if each[3]]:
        random.shuffle(left)
        for gpu, number, block, operations in left:
            if _step(plan, memory, signals, arrived, gpu, number, block, operations[0]):
                operations.pop(0)
                break
        else:
            raise ValueError("no thread block can continue")
    return memory


def _step(
    plan: Any, memory: Any, signals: Any, arrived: Any, gpu: Any, number: int, block: Any, op: Any
) -> bool:
    name, rank = op["name"], gpu["id"]
    if name == "barrier":
        # A thread block that has arrived waits for the others, and is counted once.
        key = rank, op["barrier_id"]
        arrived[key].add(number)
        waiting = len(arrived[key]) % op["num_threadblocks"]
        if not waiting:
            arrived["passed", *key] = set(arrived[key])
        return number in arrived["passed", *key]
    keys = _channels(gpu, block, op)
    if name in ("wait", "rlxwait", "sem_acquire"):
        wanted = Counter(
            (*key[:1], *key[2:0:-1], *key[3:]) if key[0] == "signal" else key for key in keys
        )
        if any(signals[key] < count for key, count in wanted.items()):
            return False
        signals.subtract(wanted)
        return True
    sources = [
        _units(plan, gpu, block, op, each, name, n) for n, each in enumerate(op.get("src_buff", []))
    ]
    targets = [
        _units(plan, gpu, block, op, each, name, n, True)
        for n, each in enumerate(op.get("dst_buff", []))
    ]
    if any(place[1] == "packet" and place not in memory for places in sources for place in places):
        return False
    for places in sources:
        if any(place not in memory for place in places):
            raise ValueError(f"{name} reads what was never written")
    values = [[memory[place] for place in places] for places in sources]
    if name not in ("put", "pws", "pwsf", "get", "copy", "ppkt", "cpkt", "upkt"):
        total = [sum(parts) for parts in zip(*values, strict=True)]
        values = [total] * len(targets)
    for places, numbers in zip(targets, values, strict=bool(values)):
        memory.update(zip(places, numbers, strict=True))
    if name in ("signal", "rlxsignal", "pws", "pwsf", "sem_release"):
        signals.update(keys)
    return True


def _channels(gpu: Any, block: Any, op: Any) -> list[Any]:
    """Return the keys of an operation's semaphores or, without semaphores, of its channels.

    A channel's key has its two ranks, its type, and its number among the channels to the same rank.
    """
    if "semaphore_ids" in op:
        return [("semaphore", gpu["id"], number) for number in op["semaphore_ids"]]
    kind = op.get("channel_type")
    peers = [
        peer
        for channel in gpu["channels"]
        if channel["channel_type"] == kind
        for peer in channel["connected_to"]
    ]
    mine = [
        number
        for channel in block["channels"]
        if channel["channel_type"] == kind
        for number in channel["channel_ids"]
    ]
    found = []
    for index in op.get("channel_ids", []):
        number = mine[index]
        found.append(
            ("signal", gpu["id"], peers[number], peers[:number].count(peers[number]), kind)
        )
    return found


def _units(
    plan: Any, gpu: Any, block: Any, op: Any, ref: Any, name: str, n: int, is_target: bool = False
) -> list[Any]:
    rank, buffer = gpu["id"], ref.get("type")
    if "buffer_id" in ref:
        ids = [
            each
            for refs in block["remote_buffer_refs"]
            if refs["access_channel_type"] == op["channel_type"]
            for each in refs["remote_buffer_ids"]
        ]
        remote = gpu["remote_buffers"][ids[ref["buffer_id"]]]
        rank, buffer = remote["rank"], remote["type"]
    packets = ("ppkt", "cpkt", "rppkt") if is_target else ("rppkt", "upkt")
    later = (
        ("respkt", "recpkt", "recspkt") if is_target else ("repkt", "respkt", "recpkt", "recspkt")
    )
    if name in packets or (n and name in later):
        buffer = "packet"
    group = op.get("tbg_info", {"tb_id": 0, "tbg_size": 1})
    units = ref["size"] * PARTS // group["tbg_size"]
    first = ref["index"] * PARTS + group["tb_id"] * units
    return [_place(plan, rank, buffer, index) for index in range(first, first + units)]


def _place(plan: Any, rank: int, buffer: str, index: int) -> Any:
    """Return the key of a memory location: rank, buffer and index.

    In an in-place plan, the smaller of the input and output buffers is a part of the larger one.
    """
    gpu = plan["gpus"][rank]
    if plan["inplace"] and buffer in ("i", "o"):
        sizes = {"i": gpu["input_chunks"], "o": gpu["output_chunks"]}
        if sizes[buffer] < max(sizes.values()):
            index += rank * sizes[buffer] * PARTS
        buffer = "io"
    return rank, buffer, index
