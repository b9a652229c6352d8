"""Read the elements of an MSCCL XML file: GPUs, thread blocks and steps.

Files are not trusted. Every element is checked when it is read, document types (and thus entities)
are refused, and the file size and all numbers have limits. If an element or a type of step is not
supported, the error names it.

Reference: ``msccl/language/ir.py`` of microsoft/msccl-tools, ``src/misc/msccl/msccl_parser.cc`` of
ROCm/rccl; M. Cowan et al., "MSCCLang: Microsoft Collective Communication Language", ASPLOS 2023.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, NoReturn
from xml.parsers import expat

from starcast.collectives.model import REDUCTIONS
from starcast.formats.chunks import HINT, find_mismatch
from starcast.formats.msccl import (
    MAX_CHUNKS_PER_STEP,
    MAX_OFFSET,
    RUNTIMES,
    RuntimeLimits,
)
from starcast.support.errors import InputError, unreadable
from starcast.support.limited import MB, LimitedStream
from starcast.support.text import with_article
from starcast.support.vocabulary import Collective
from starcast.topologies import Topology

#: Types of steps that send, and types of steps that receive. Some do both: `rcs`, for example,
#: receives a chunk and sends it on.
SENDS, RECEIVES = ("s", "rcs", "rrs", "rrcs"), ("r", "rcs", "rrc", "rrs", "rrcs")
#: Types of steps that add to a chunk: a received chunk or, for `re`, another chunk of the GPU.
ADDS = ("re", "rrc", "rrs", "rrcs")
#: Step types that write a chunk on the GPU that executes them, and step types that read one.
WRITES = ("r", "rcs", "cpy", "re", "rrc", "rrcs")
_READS = ("s", "cpy", *ADDS)
_TYPES = ("s", "cpy", "nop", *RECEIVES, "re")

_LIMITS = RuntimeLimits(*map(max, zip(*RUNTIMES.values(), strict=True)))
#: Maximum size of a file in bytes, several times the size of the largest file that starcast writes
#: for S5.
_MAX_BYTES = 100 * MB
#: Maximum size of a tag or comment in bytes. Without a limit, a long tag would take quadratic time:
#: the parser scans an incomplete tag again whenever it gets more data.
_MAX_TOKEN = MB
_CHUNK = 2**16
_PARENTS = {"algo": "", "gpu": "algo", "tb": "gpu", "step": "tb"}
_NUMBER = re.compile(r"-?\d{1,9}", re.ASCII)


class Instruction(NamedTuple):
    """One step of a thread block: a send, a receive or a local operation.

    Attributes:
        type: one of ``s``, ``r``, ``rcs``, ``rrc``, ``rrs``, ``rrcs``, ``re``, ``cpy`` and ``nop``.
        source: buffer and offset of the first chunk that the step reads on its GPU; ("", 0) for
            none.
        target: buffer and offset of the first chunk that the step writes on its GPU; ("", 0) for
            none.
        chunks: the number of consecutive chunks that the step processes.
        needs: the thread block and the number of the step that must end before this step begins;
            the first number is -1 if this step need not wait.
        has_dependent: whether another step depends on the end of this step.
        row_step: the schedule step to which a send belongs; 0 if the file does not contain it.
        tree: the number of the tree to which a send belongs in the schedule.
    """

    type: str
    source: tuple[str, int]
    target: tuple[str, int]
    chunks: int
    needs: tuple[int, int]
    has_dependent: bool
    row_step: int
    tree: int


@dataclass
class Block:
    """A thread block of a rank.

    Attributes:
        rank: the rank of the GPU.
        number: the number of the thread block on this GPU.
        send: the rank to which the thread block sends; -1 for none.
        receive: the rank from which the thread block receives; -1 for none.
        channel: the number of the channel on which the thread block sends and receives.
        steps: the steps in the order of execution.
    """

    rank: int
    number: int
    send: int
    receive: int
    channel: int
    steps: list[Instruction] = field(default_factory=list)

    def __str__(self) -> str:
        """Return the rank and the thread block, as text for messages."""
        return f"rank {self.rank}, thread block {self.number}"


@dataclass
class Gpu:
    """A GPU: its thread blocks, and the sizes of its buffers ``i``, ``o`` and ``s`` in chunks."""

    rank: int
    chunks: dict[str, int]
    blocks: list[Block] = field(default_factory=list)


class ElementReader:
    """Reads the elements of one MSCCL XML file.

    Attributes:
        gpus: the GPUs by rank.
        in_place: whether the collective is executed in place.
    """

    def __init__(self, topology: Topology, collective: Collective) -> None:
        self.gpus: dict[int, Gpu] = {}
        self.in_place = False
        self._topology = topology
        self._collective = collective
        self._open = [""]
        self._attributes: dict[str, str] = {}
        self._begin = {
            "algo": self._begin_algo,
            "gpu": self._begin_gpu,
            "tb": self._begin_block,
            "step": self._begin_step,
        }
        self._parser = expat.ParserCreate("utf-8")
        self._parser.StartElementHandler = self._begin_element
        self._parser.EndElementHandler = lambda _: self._open.pop()
        self._parser.CharacterDataHandler = self._read_text
        self._parser.StartDoctypeDeclHandler = lambda *_: self._fail("declares a document type")

    def read(self, path: str | Path) -> None:
        """Read a file; check that no GPU is missing and that steps wait only for existing steps.

        Raises:
            InputError: the file cannot be read, is invalid, or uses unsupported features.
            LimitError: the file is too large.
        """
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - a device or a pipe is read as well
                self._parse(LimitedStream(file, _MAX_BYTES, "the file"))
        except OSError as error:
            raise unreadable("the file", error) from None
        except expat.ExpatError as error:
            self._fail(f"is not XML: {expat.ErrorString(error.code)}")
        missing = set(range(self._topology.endpoints)) - self.gpus.keys()
        if missing:
            raise InputError(f"the file has no GPU {min(missing)}", hint=HINT)
        for gpu in self.gpus.values():
            for block in gpu.blocks:
                _check_needs(gpu, block)

    def _parse(self, stream: LimitedStream) -> None:
        read = 0
        while data := stream.read(_CHUNK):
            self._parser.Parse(data)
            read += len(data)
            if read - self._parser.CurrentByteIndex > _MAX_TOKEN:
                self._fail(f"has a tag or comment of more than {_MAX_TOKEN // MB} MB")
        self._parser.Parse(b"", True)

    def _fail(self, problem: str, hint: str = HINT) -> NoReturn:
        raise InputError(f"line {self._parser.CurrentLineNumber} {problem}", hint=hint)

    def _read_text(self, text: str) -> None:
        if text.strip():
            self._fail(f"has text outside of tags: '{text.strip()}'")

    def _begin_element(self, name: str, attributes: dict[str, str]) -> None:
        if _PARENTS.get(name) != self._open[-1]:
            hint = "nest the elements in the order algo, gpu, tb, step"
            place = f"in '{self._open[-1]}'" if self._open[-1] else "outside of 'algo'"
            self._fail(f"has an invalid element '{name}' {place}", hint)
        self._open.append(name)
        self._attributes = attributes
        self._begin[name]()

    def _text(self, name: str) -> str:
        if name not in self._attributes:
            self._fail(f"has {with_article(self._open[-1])} without '{name}'")
        return self._attributes[name]

    def _number(self, name: str, least: int, greatest: int) -> int:
        text = self._text(name)
        if not _NUMBER.fullmatch(text) or not least <= int(text) <= greatest:
            self._fail(
                f"has the invalid {name} '{text}'", f"write a number from {least} to {greatest}"
            )
        return int(text)

    def _optional(self, name: str, least: int, greatest: int) -> int:
        return self._number(name, least, greatest) if name in self._attributes else 0

    def _begin_algo(self) -> None:
        in_place = bool(self._optional("inplace", 0, 1))
        head = self._text("coll"), self._text("ngpus"), in_place
        if problem := find_mismatch(*head, self._topology, self._collective):
            self._fail(problem)
        self.in_place = in_place

    def _begin_gpu(self) -> None:
        rank = self._number("id", 0, self._topology.endpoints - 1)
        if rank in self.gpus:
            self._fail(f"has GPU {rank} a second time")
        chunks = {name: self._number(f"{name}_chunks", 0, MAX_OFFSET + 1) for name in "ios"}
        self._gpu = self.gpus[rank] = Gpu(rank, chunks)

    def _begin_block(self) -> None:
        gpu, last = self._gpu, self._topology.endpoints - 1
        number = self._number("id", 0, _LIMITS.blocks - 1)
        if number != len(gpu.blocks):
            self._fail(f"has thread block {number} instead of {len(gpu.blocks)}")
        send, receive = self._number("send", -1, last), self._number("recv", -1, last)
        if gpu.rank in (send, receive):
            problem = f"has a thread block of rank {gpu.rank} whose peer is the same rank"
            self._fail(problem, "use steps of the type 'cpy' for copies on one GPU")
        channel = self._number("chan", 0, _LIMITS.channels - 1)
        for other in gpu.blocks:
            is_shared = other.send == send >= 0 or other.receive == receive >= 0
            if is_shared and other.channel == channel:
                place = f"thread blocks {other.number} and {number} of rank {gpu.rank}"
                self._fail(f"has {place} for the same peer and channel", "use another channel")
        gpu.blocks.append(Block(gpu.rank, number, send, receive, channel))

    def _begin_step(self) -> None:
        block = self._gpu.blocks[-1]
        number = self._number("s", 0, _LIMITS.steps - 1)
        if number != len(block.steps):
            self._fail(f"has step {number} instead of {len(block.steps)}")
        kind = self._text("type")
        if kind in ADDS and self._collective not in REDUCTIONS:
            hint = f"use other types: {with_article(self._collective)} only moves data"
            self._fail(f"has a step of the type '{kind}', which adds data", hint)
        if kind not in _TYPES:
            self._fail(f"has a step of the unknown type '{kind}'", f"use {', '.join(_TYPES)}")
        if (kind in SENDS and block.send < 0) or (kind in RECEIVES and block.receive < 0):
            self._fail(f"has a step of the type '{kind}', but its thread block lacks a peer")
        step = Instruction(
            kind,
            self._place("src") if kind in _READS else ("", 0),
            self._place("dst") if kind in WRITES else ("", 0),
            self._number("cnt", 0, MAX_CHUNKS_PER_STEP),
            (self._number("depid", -1, _LIMITS.blocks), self._number("deps", -1, _LIMITS.steps)),
            self._number("hasdep", 0, 1) == 1,
            self._optional("step", 1, 2**31 - 1),
            self._optional("tree", 0, 255),
        )
        block.steps.append(step)

    def _place(self, end: str) -> tuple[str, int]:
        buffer = self._text(f"{end}buf")
        if buffer not in self._gpu.chunks:
            self._fail(f"has the unknown {end}buf '{buffer}'", "use i, o or s")
        chunks = self._number("cnt", 1, MAX_CHUNKS_PER_STEP)
        return buffer, self._number(f"{end}off", 0, self._gpu.chunks[buffer] - chunks)


def _check_needs(gpu: Gpu, block: Block) -> None:
    """Check that the steps of a thread block wait only for steps that exist and report their end.

    Raises:
        InputError: a step waits for a step that does not exist or does not report its end.
    """
    for number, step in enumerate(block.steps):
        other, needed = step.needs
        if other < 0:
            continue
        waits = f"rank {gpu.rank}, thread block {block.number}, step {number} waits for"
        needs = f"{waits} thread block {other}, step {needed}"
        if other >= len(gpu.blocks) or not 0 <= needed < len(gpu.blocks[other].steps):
            raise InputError(f"{needs}, which does not exist", hint=HINT)
        if not gpu.blocks[other].steps[needed].has_dependent:
            raise InputError(
                f"{needs}, which does not report its end", hint='write hasdep="1" in that step'
            )
