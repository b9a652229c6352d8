"""MSCCL XML files executed on numbers, as the runtimes of MSCCL and RCCL execute them on GPUs."""

import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from random import Random

#: The number in each chunk, by rank, buffer and offset.
Memory = dict[tuple[int, str, int], int]
#: The numbers sent but not yet received, by sender, receiver and channel.
Wires = defaultdict[tuple[str, str, str], list[int]]


def contribution(rank: int, index: int) -> int:
    """Return the number in an input chunk; a sum of these numbers reveals which were added."""
    scale: int = 10 ** (4 * rank)
    return (index + 1) * scale


def execute(text: str, draw: Random) -> Memory:
    """Execute all thread blocks, interleaved at random, and return all chunks.

    A step waits for the step on which it depends, and a receive waits for its send.

    Raises:
        AssertionError: the file exceeds a limit, or a step or a message is left over.
        KeyError: a step reads a chunk that holds nothing yet.
    """
    root = ET.fromstring(text)  # noqa: S314 - written by the tests
    assert (root.tag, int(root.attrib["ngpus"])) == ("algo", len(root))
    assert int(root.attrib["nchannels"]) <= 32
    memory: Memory = {}
    blocks: dict[tuple[str, str], tuple[dict[str, str], list[dict[str, str]]]] = {}
    for gpu in root:
        rank = gpu.attrib["id"]
        for index in range(int(gpu.attrib["i_chunks"])):
            memory[int(rank), "i", index] = contribution(int(rank), index)
        assert [int(block.attrib["id"]) for block in gpu] == list(range(len(gpu)))
        for block in gpu:
            steps = [step.attrib for step in block]
            assert 0 < len(steps) <= 256
            assert [int(step["s"]) for step in steps] == list(range(len(steps)))
            blocks[rank, block.attrib["id"]] = block.attrib, steps
    done = Counter[tuple[str, str]]()
    wires: Wires = defaultdict(list)
    unfinished = list(blocks)
    while unfinished:
        draw.shuffle(unfinished)
        before = done.total()
        for rank, number in unfinished:
            block_attributes, steps = blocks[rank, number]
            for step in steps[done[rank, number] :][: draw.randint(1, 9)]:
                needed = int(step["deps"])
                if step["depid"] != "-1":
                    assert blocks[rank, step["depid"]][1][needed]["hasdep"] == "1"
                    if done[rank, step["depid"]] <= needed:
                        break
                if not _perform(step, rank, block_attributes, memory, wires):
                    break
                done[rank, number] += 1
        assert done.total() > before, "thread blocks wait for ever"
        unfinished = [key for key in unfinished if done[key] < len(blocks[key][1])]
    assert not any(wires.values())
    return memory


def _perform(
    step: dict[str, str], rank: str, block: dict[str, str], memory: Memory, wires: Wires
) -> bool:
    """Perform a step unless it waits for a message; return whether it was performed."""
    sources, targets = _places(step, rank, "src"), _places(step, rank, "dst")
    wire = wires[block["recv"], rank, block["chan"]]
    kind = step["type"]
    if kind in ("r", "rrc") and not wire:
        return False
    for source, target in zip(sources, targets, strict=True):
        match kind:
            case "s":
                wires[rank, block["send"], block["chan"]].append(memory[source])
            case "r":
                memory[target] = wire.pop(0)
            case "rrc":
                memory[target] = wire.pop(0) + memory[source]
            case _:
                assert kind == "cpy"
                memory[target] = memory[source]
    assert sources or kind == "nop"
    return True


def _places(step: dict[str, str], rank: str, end: str) -> list[tuple[int, str, int]]:
    """Return the chunks that a step reads (``src``) or writes (``dst``)."""
    first = int(step[f"{end}off"])
    places = range(first, first + int(step["cnt"]))
    return [(int(rank), step[f"{end}buf"], place) for place in places]
