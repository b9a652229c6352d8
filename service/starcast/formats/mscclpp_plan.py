"""Read execution plans of MSCCL++ as objects, and check their values.

Files are not trusted: the file size, all numbers and the number of transfers have limits.
"""

from math import lcm
from pathlib import Path
from typing import Annotated, Literal

import pydantic

from starcast.formats.chunks import HINT
from starcast.formats.msccl import MAX_OFFSET
from starcast.support.errors import InputError, LimitError, unreadable
from starcast.support.json_files import Many, describe_error, parse_json
from starcast.support.limited import MB, read_bytes

_MAX_BYTES = 100 * MB
#: Maximum number of thread blocks. More would need too much memory, because the execution stores a
#: number for each pair of blocks.
_MAX_BLOCKS = 4096
_MAX_UNITS = 4_000_000
_Index = Annotated[int, pydantic.Field(strict=True, ge=0, le=MAX_OFFSET)]
_Count = Annotated[int, pydantic.Field(strict=True, ge=0, le=MAX_OFFSET + 1)]
_Size = Annotated[int, pydantic.Field(strict=True, ge=1, le=MAX_OFFSET + 1)]
#: A name that is short enough to be quoted in a message.
_Word = Annotated[str, pydantic.Field(max_length=40)]
_Buffer = Literal["i", "o", "s"]
_names = pydantic.AliasChoices


class ChunkRange(pydantic.BaseModel):
    """Consecutive chunks in a buffer.

    A buffer of the same GPU is given by ``type``, and a buffer of another GPU by ``buffer_id``.
    """

    type: _Buffer | None = None
    buffer_id: _Index | None = None
    index: _Index
    size: _Size


class _Group(pydantic.BaseModel):
    """A thread block's position in a group of blocks, which move equal parts of each chunk."""

    tb_id: _Index = 0
    tbg_size: Annotated[int, pydantic.Field(strict=True, ge=1, le=64)] = 1


class PlanOperation(pydantic.BaseModel):
    """An operation of a thread block; the fields have the same names as in the file."""

    name: _Word
    src_buff: Many[ChunkRange] = ()
    dst_buff: Many[ChunkRange] = ()
    channel_type: _Word = ""
    channel_ids: Many[_Index] = ()
    barrier_id: _Index = 0
    num_threadblocks: _Size = 1
    semaphore_ids: Many[_Index] = ()
    tbg_info: _Group = _Group()


class References(pydantic.BaseModel):
    """Numbers of channels, or of buffers of other GPUs, that a thread block uses.

    All of these channels, or the channels by which the buffers are accessed, have the type
    ``kind``.
    """

    kind: _Word = pydantic.Field(validation_alias=_names("channel_type", "access_channel_type"))
    numbers: Many[_Index] = pydantic.Field(
        validation_alias=_names("channel_ids", "remote_buffer_ids")
    )


class PlanBlock(pydantic.BaseModel):
    """A thread block. After the file is read, `rank` and `place` (its index on the GPU) are set."""

    steps: Many[PlanOperation] = pydantic.Field(validation_alias="ops")
    channels: Many[References] = ()
    remote_buffer_refs: Many[References] = ()
    rank: int = 0
    place: int = 0

    def __str__(self) -> str:
        """Return the rank and the thread block, as text for messages."""
        return f"rank {self.rank}, thread block {self.place}"


class _Channel(pydantic.BaseModel):
    channel_type: _Word
    connected_to: Many[_Index] = ()


class _RemoteBuffer(pydantic.BaseModel):
    rank: _Index
    type: _Buffer


class _Gpu(pydantic.BaseModel):
    id: _Index
    input_chunks: _Count
    output_chunks: _Count
    scratch_chunks: _Count
    threadblocks: Many[PlanBlock]
    channels: Many[_Channel] = ()
    remote_buffers: Many[_RemoteBuffer] = ()
    semaphores: Many[dict[str, _Index]] = ()


class Plan(pydantic.BaseModel):
    """An MSCCL++ execution plan, as read from a file.

    Attributes:
        collective: the collective's name in the file.
        inplace: whether the input and output buffers overlap.
        gpus: the GPUs by rank.
        chunk_units: the number of units per chunk, set after the file is read. It is a multiple of
            the size of each thread block group, so each part of a chunk has an integer size.
    """

    collective: _Word
    inplace: bool
    gpus: Many[_Gpu]
    chunk_units: int = 1


def read_plan(path: str | Path) -> Plan:
    """Read a plan, and check its values and the order of its GPUs.

    Raises:
        InputError: the file cannot be read, is not an MSCCL++ plan, or does not list its GPUs by
            ascending rank.
        LimitError: the file is too large or has too many thread blocks, or its buffers and
            operations have too many units.
    """
    try:
        plan = Plan.model_validate(parse_json(read_bytes(path, _MAX_BYTES), "the plan"))
    except OSError as error:
        raise unreadable("the plan", error) from None
    except ValueError as error:
        reason = describe_error(error)
        hint = "use a plan written by the MSCCL++ language"
        raise InputError(f"the file is not an MSCCL++ plan: {reason}", hint=hint) from None
    blocks = [block for gpu in plan.gpus for block in gpu.threadblocks]
    operations = [step for block in blocks for step in block.steps]
    size = sum(place.size for op in operations for place in (*op.src_buff, *op.dst_buff))
    size += sum(gpu.input_chunks + gpu.output_chunks for gpu in plan.gpus)
    plan.chunk_units = lcm(*{step.tbg_info.tbg_size for step in operations})
    if size * plan.chunk_units > _MAX_UNITS or len(blocks) > _MAX_BLOCKS:
        problem = f"the plan has more than {_MAX_BLOCKS:,} thread blocks, or holds or moves more"
        raise LimitError(f"{problem} than {_MAX_UNITS:,} units", hint="use fewer chunks")
    for rank, gpu in enumerate(plan.gpus):
        if gpu.id != rank:
            raise InputError(f"the plan lists GPU {gpu.id} instead of GPU {rank}", hint=HINT)
        for place, block in enumerate(gpu.threadblocks):
            block.rank, block.place = rank, place
    return plan
