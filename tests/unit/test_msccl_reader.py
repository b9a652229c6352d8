"""Reading MSCCL XML: round trips, files of other tools, and errors that name their location."""

import re
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from oracles import msccl as oracle
from starcast import (
    Schedule,
    network,
    schedule,
    schedule_from_columns,
    schedule_from_msccl,
    simulate,
    timing,
)
from starcast.collectives.algorithm import algorithms_on
from starcast.collectives.model import COLUMNS
from starcast.formats import msccl_elements, render
from starcast.formats.msccl import RUNTIMES
from starcast.support.errors import InputError, LimitError, RejectedError, StarcastError
from starcast.support.progress import Silent
from starcast.topologies import topology
from support.meeting import refused

#: For each topology, every algorithm in each of its port models.
CATALOGUE = [
    (spec, algorithm.collective, algorithm.name, ports)
    for spec in ("S3", "Q3", "S4,2", "S4", "Mesh2x3")
    for algorithm in algorithms_on(topology(spec), None)
    for ports in algorithm.ports
]


@pytest.fixture(params=CATALOGUE, ids=" ".join)
def built(request: pytest.FixtureRequest) -> Schedule:
    """The schedule of one case in `CATALOGUE`; a test with this fixture runs for each case."""
    return schedule(*request.param)


def written(built: Schedule, *, plain: bool = False) -> str:
    """Return a schedule as MSCCL XML, without starcast's own attributes if `plain` is true."""
    text = b"".join(render(built, "msccl-xml")).decode()
    return re.sub(r' step="\d+" tree="\d+"', "", text) if plain else text


def read(text: str, folder: Path, spec: str, collective: Any, **options: Any) -> Schedule:
    file = folder / "mine.xml"
    file.write_text(text)
    return schedule_from_msccl(file, spec, collective, **options)


def test_a_schedule_exported_as_msccl_xml_is_read_back_unchanged(
    tmp_path: Path, built: Schedule
) -> None:
    spec = built.topology.spec
    back = read(written(built), tmp_path, spec, built.collective, ports=built.ports)
    expanded = built.expand()
    for name in (*COLUMNS, "combine", "units", "ports", "collective"):
        assert np.array_equal(getattr(back, name), getattr(expanded, name)), name


def test_rows_of_an_msccl_file_without_step_numbers_are_ordered_by_dependencies(
    tmp_path: Path, built: Schedule
) -> None:
    """The attributes `step` and `tree`, which only starcast writes, are removed.

    The schedule still sends each unit over its original links.
    """
    built = built.expand()
    back = read(written(built, plain=True), tmp_path, built.topology.spec, built.collective)
    sent = [
        Counter(zip(each.sender.tolist(), each.receiver.tolist(), each.unit.tolist(), strict=True))
        for each in (back, built)
    ]
    assert sent[0] == sent[1]
    assert simulate(back).complete
    if not built.packets:
        assert back.steps <= built.steps


@pytest.mark.parametrize("root", [1, 5])
def test_the_root_the_segments_and_the_channels_in_an_msccl_file_are_read(
    tmp_path: Path, root: int
) -> None:
    """A link that carries 300 units needs several channels, which are ordered by dependencies."""
    built = schedule("S3", "broadcast", "multiple", root=root, segments=300)
    back = read(written(built), tmp_path, "S3", "broadcast", root=root)
    assert all(np.array_equal(getattr(back, name), getattr(built, name)) for name in COLUMNS)


def step(
    number: int, kind: str, source: str, target: str, needs: str = "-1 -1 0", n: int = 1
) -> str:
    """Return the XML of a step; ``needs`` has the values of depid, deps and hasdep."""
    block, needed, has_dependent = needs.split()
    return (
        f'<step s="{number}" type="{kind}" srcbuf="{source[0]}" srcoff="{source[1:]}" '
        f'dstbuf="{target[0]}" dstoff="{target[1:]}" cnt="{n}" depid="{block}" deps="{needed}" '
        f'hasdep="{has_dependent}"/>'
    )


def block(number: int, send: int, receive: int, *steps: str, channel: int = 0) -> str:
    """Return the XML of a thread block."""
    return (
        f'<tb id="{number}" send="{send}" recv="{receive}" chan="{channel}">{"".join(steps)}</tb>'
    )


def algo(collective: str, gpus: list[str], sizes: tuple[int, int, int], more: str = "") -> str:
    """Return the text of a complete MSCCL XML file."""
    inputs, outputs, scratch = sizes
    chunks = f'i_chunks="{inputs}" o_chunks="{outputs}" s_chunks="{scratch}"'
    content = "\n".join(f'<gpu id="{rank}" {chunks}>{gpu}</gpu>' for rank, gpu in enumerate(gpus))
    head = (
        f'<algo name="x" proto="LL" nchannels="2" ngpus="{len(gpus)}" coll="{collective}" {more}>'
    )
    return f"<!-- a licence -->\n{head}\n{content}\n</algo>\n"


def ring() -> str:
    """Return an in-place allgather on a ring of four nodes, as msccl-tools would write it.

    Each thread block receives a chunk and forwards it in the same step.
    """
    gpus = []
    for rank in range(4):
        own, one, two, three = ((rank - back) % 4 for back in range(4))
        steps = (
            step(0, "s", f"o{own}", f"o{own}"),
            step(1, "rcs", f"o{one}", f"o{one}"),
            step(2, "rcs", f"o{two}", f"o{two}"),
            step(3, "r", f"o{three}", f"o{three}"),
        )
        gpus.append(block(0, (rank + 1) % 4, (rank - 1) % 4, *steps))
    return algo("allgather", gpus, (0, 4, 0), 'inplace="1"')


def direct(chunks: int = 1) -> str:
    """Return an alltoall of three nodes over two channels, as RCCL would write it."""
    gpus = []
    for rank in range(3):
        own = f"{rank * 2 * chunks}"
        blocks = [block(0, -1, -1, step(0, "cpy", f"i{own}", f"o{own}", n=2 * chunks))]
        for peer in {0, 1, 2} - {rank}:
            for channel in range(2):
                mine, theirs = ((each * 2 + channel) * chunks for each in (peer, rank))
                sends = step(0, "s", f"i{mine}", f"o{theirs}", n=chunks)
                receives = step(0, "r", f"i{theirs}", f"o{mine}", n=chunks)
                blocks.append(block(len(blocks), peer, -1, sends, channel=channel))
                blocks.append(block(len(blocks), -1, peer, receives, channel=channel))
        gpus.append("".join(blocks))
    sizes = (6 * chunks, 6 * chunks, 0)
    return algo("alltoall", gpus, sizes, 'inplace="0" outofplace="1" minBytes="0" maxcount="1"')


def test_an_in_place_allgather_on_a_ring_is_read_from_an_msccl_file(tmp_path: Path) -> None:
    """The file is read on S4,1, the complete graph of four nodes."""
    back = read(ring(), tmp_path, "S4,1", "allgather")
    rows = zip(back.step, back.sender, back.receiver, back.unit, strict=True)
    expected = {
        (back + 1, rank, (rank + 1) % 4, (rank - back) % 4)
        for rank in range(4)
        for back in range(3)
    }
    assert {tuple(map(int, row)) for row in rows} == expected
    assert simulate(back).complete


def test_chunks_sent_in_one_step_and_over_several_channels_form_one_packet(tmp_path: Path) -> None:
    back = read(direct(3), tmp_path, "S3,1", "alltoall")
    result = simulate(back)
    assert (result.steps, result.largest_packet, result.complete) == (1, 6, True)
    assert timing(back, 64, 100, 1).time == 100 + 6 * 64


def test_units_that_stay_on_their_gpu_are_counted_as_units_of_the_schedule(tmp_path: Path) -> None:
    """Units with the highest numbers stay on their GPU, so the schedule has no rows for them."""
    back = read(direct(5), tmp_path, "S3,1", "alltoall")
    assert (back.message_units, back.units, simulate(back).complete) == (10, 90, True)


def test_an_msccl_file_may_use_as_many_channels_as_the_most_permissive_runtime_has(
    tmp_path: Path,
) -> None:
    last = max(limits.channels for limits in RUNTIMES.values()) - 1
    assert last == 127
    text = ring().replace('chan="0"', f'chan="{last}"')
    assert simulate(read(text, tmp_path, "K4", "allgather")).complete
    with refused(f"line 3 has the invalid chan '{last + 1}'"):
        read(ring().replace('chan="0"', f'chan="{last + 1}"'), tmp_path, "K4", "allgather")


def test_an_msccl_file_for_another_collective_is_refused(tmp_path: Path) -> None:
    with refused("line 2 is for the collective 'custom', not allgather"):
        read(ring().replace("allgather", "custom"), tmp_path, "K4", "allgather")


def test_steps_that_wait_for_each_other_in_a_cycle_are_refused(tmp_path: Path) -> None:
    needs = [("1 0 1", "0 0 1"), ("0 1 1", "0 0 1")]
    for one, other in needs:
        blocks = [
            block(0, -1, -1, step(0, "cpy", "i0", "o0", one), step(1, "cpy", "i0", "o0")),
            block(1, -1, -1, step(0, "cpy", "i1", "o1", other)),
        ]
        text = algo("alltoall", ["".join(blocks)] * 2, (2, 2, 0)).replace('deps="1"', 'deps="0"')
        with refused("rank 0, thread block 0, step 0 waits forever for thread block", exit_code=6):
            read(text, tmp_path, "K2", "alltoall")


def test_an_msccl_alltoall_that_sends_a_chunk_to_the_wrong_rank_is_refused(tmp_path: Path) -> None:
    """In the wrong file, rank 0 sends the chunk for rank 2 to rank 1."""
    text = direct()
    assert simulate(read(text, tmp_path, "K3", "alltoall")).complete
    first, second = 'srcbuf="i" srcoff="2" dstbuf="o" dstoff="0"', 'srcbuf="i" srcoff="4"'
    assert first in text
    wrong = text.replace(first, f'{second} dstbuf="o" dstoff="0"', 1)
    with refused("rank 1 ends with unit 4 in o[0] instead of unit 2", exit_code=6):
        read(wrong, tmp_path, "K3", "alltoall")


def test_a_gather_can_be_read_from_a_file_whose_collective_is_named_custom(tmp_path: Path) -> None:
    text = written(schedule("S3", "gather", "one-port"), plain=True)
    text = text.replace('coll="gather"', 'coll="custom"')
    assert simulate(read(text, tmp_path, "S3", "gather")).complete


RING = 'type="rcs" srcbuf="o" srcoff="3" dstbuf="o" dstoff="3"'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<algo", "<!DOCTYPE algo [<!ENTITY a 'b'>]><algo", "line 2 declares a document type"),
        ("<algo", "<?xml version='1.0' encoding='utf-7'?>x<algo", "line 2 is not XML"),
        ("</algo>", "", "line 8 is not XML: no element found"),
        ("<algo", "<gpu/><algo", "line 2 has an invalid element 'gpu' outside of 'algo'"),
        ("\n</algo>", "text</algo>", "line 6 has text outside of tags: 'text'"),
        ("<tb ", "<op/><tb ", "line 3 has an invalid element 'op' in 'gpu'"),
        ("</tb>", "<tb/></tb>", "line 3 has an invalid element 'tb' in 'tb'"),
        ("allgather", "allreduce", "line 2 is for the collective 'allreduce', not allgather"),
        ('ngpus="4"', 'ngpus="8"', "line 2 has 8 GPUs, but S4,1 has 4 nodes"),
        ('gpu id="1"', 'gpu id="0"', "line 4 has GPU 0 a second time"),
        ('<gpu id="1" i_chunks="0" o_chunks="4" s_chunks="0">.*</gpu>', "", "has no GPU 1"),
        ('o_chunks="4"', 'o_chunks="40000"', "line 3 has the invalid o_chunks '40000'"),
        ('o_chunks="4"', 'o_chunks="5"', "buffers of 5 chunks cannot be divided into equal"),
        (' o_chunks="4"', "", "line 3 has a gpu without 'o_chunks'"),
        ('tb id="0"', 'tb id="1"', "line 3 has thread block 1 instead of 0"),
        ('recv="3"', 'recv="9"', "line 3 has the invalid recv '9'"),
        ('send="1"', 'send="0"', "line 3 has a thread block of rank 0 whose peer is the same rank"),
        ('recv="3"', 'recv="0"', "line 3 has a thread block of rank 0 whose peer is the same rank"),
        ('step s="1"', 'step s="2"', "line 3 has step 2 instead of 1"),
        ('type="rcs"', 'type="rrc"', "line 3 has a step of the type 'rrc', which adds data"),
        ('type="rcs"', 'type="d"', "line 3 has a step of the unknown type 'd'"),
        ('send="1"', 'send="-1"', "line 3 has a step of the type 's', but its thread block lacks"),
        ('srcbuf="o" srcoff="0"', 'srcbuf="q" srcoff="0"', "line 3 has the unknown srcbuf 'q'"),
        ('srcbuf="o" srcoff="0"', 'srcbuf="o" srcoff="4"', "line 3 has the invalid srcoff '4'"),
        ('cnt="1"', 'cnt="99"', "line 3 has the invalid cnt '99'"),
        ('cnt="1"', 'cnt="1e3"', "line 3 has the invalid cnt '1e3'"),
        ('hasdep="0"', 'hasdep="0" step="0"', "line 3 has the invalid step '0'"),
        ('depid="-1" deps="-1"', 'depid="1" deps="0"', "block 1, step 0, which does not exist"),
        ('depid="-1" deps="-1"', 'depid="0" deps="1"',
         "step 0 waits for thread block 0, step 1, which does not report its end"),
    ],
)  # fmt: skip
def test_the_error_for_a_damaged_msccl_file_names_the_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    damaged = re.sub(old, new, ring(), count=1)
    assert damaged != ring()
    with refused(message, "mine.xml"):
        read(damaged, tmp_path, "S4,1", "allgather")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('srcbuf="o" srcoff="0"', 'srcbuf="o" srcoff="2"',
         "rank 0, thread block 0, step 0 reads o[2], which is still empty"),
        ('cnt="1"', 'cnt="2"',
         "rank 0, thread block 0, step 0 reads o[1], which is still empty"),
        (RING, RING.replace("3", "1"), "rank 0 ends with nothing in o[3] instead of unit 3"),
        ('type="s" srcbuf="o" srcoff="1"', 'type="nop" srcbuf="o" srcoff="1"',
         "rank 2, thread block 0, step 3 waits forever for a send of rank 1 on channel 0"),
        ('chan="0"', 'chan="1"',
         "rank 0, thread block 0, step 1 waits forever for a send of rank 3 on channel 1"),
        (r'<step s="3"[^>]*>', "", "rank 0 does not receive everything that rank 3 sends"),
        (r'(step s="1" [^>]*hasdep="0")', r'\1 step="1"',
         "rank 0, thread block 0, step 1 sends in step 1 of the schedule"),
    ],
)  # fmt: skip
def test_the_error_for_a_wrong_algorithm_in_an_msccl_file_names_its_location(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    """The location is a rank, a thread block of the rank, or a step of the thread block."""
    changed = re.sub(old, new, ring(), count=1)
    assert changed != ring()
    with refused(message, exit_code=6):
        read(changed, tmp_path, "S4,1", "allgather")


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(
    ("collective", "algorithm"), [("alltoall", "exact"), ("allreduce", "multiple")]
)
def test_every_missing_dependency_in_an_msccl_file_is_detected(
    tmp_path: Path, collective: Any, algorithm: str, plain: bool
) -> None:
    """Each dependency of the file is removed in turn, and the reader reports the unsafe access."""
    text = written(schedule("S3", collective, algorithm), plain=plain)
    waits = list(re.finditer(r'depid="\d+" deps="\d+"', text))
    assert len(waits) > 5
    for wait in waits:
        missing = text[: wait.start()] + 'depid="-1" deps="-1"' + text[wait.end() :]
        with pytest.raises(RejectedError, match=r"rank \d, thread block \d, step \d reads [so]"):
            read(missing, tmp_path, "S3", collective)


def test_an_msccl_file_that_overwrites_a_chunk_before_it_is_sent_is_refused(tmp_path: Path) -> None:
    """Before a chunk is sent, it may be written twice only if both writes store the same unit."""

    def through(needs: str) -> str:
        gpus = [
            block(0, 1, -1, step(0, "s", "i2", "s0"), step(1, "s", "i2", "s0"))
            + block(1, -1, -1, step(0, "cpy", "i0", "o0"))
            + block(2, 1, -1, step(0, "s", "i1", "o0"), channel=1),
            block(0, -1, 0, step(0, "r", "i2", "s0", "-1 -1 1"), step(1, "r", "i2", "s0", needs))
            + block(1, 2, -1, step(0, "s", "s0", "o0", "0 0 1"))
            + block(2, -1, 0, step(0, "r", "i1", "o0"), channel=1),
            block(0, -1, 1, step(0, "r", "s0", "o0")),
        ]
        return algo("scatter", gpus, (3, 1, 1))

    assert simulate(read(through("1 0 0"), tmp_path, "S3,1", "scatter")).complete
    assert simulate(read(through("-1 -1 0"), tmp_path, "S3,1", "scatter")).complete
    other = through("-1 -1 0").replace('s="1" type="s" srcbuf="i" srcoff="2"',
                                       's="1" type="s" srcbuf="i" srcoff="1"')  # fmt: skip
    with pytest.raises(RejectedError, match=r"s\[0\] without waiting for"):
        read(other, tmp_path, "S3,1", "scatter")


def test_an_msccl_file_that_overwrites_a_chunk_before_it_is_copied_is_refused(
    tmp_path: Path,
) -> None:
    """Rank 1 receives unit 0 in s[0] and copies it to o[0]. Then both peers send unit 1 to s[0].

    Both receive steps must wait for the copy.
    """

    def twice(needs: str) -> str:
        gpus = [
            block(0, 1, -1, step(0, "s", "i0", "s0"))
            + block(1, 1, -1, step(0, "s", "i1", "s0"), channel=1)
            + block(2, 2, -1, step(0, "s", "i0", "o0", n=2))
            + block(3, -1, -1, step(0, "cpy", "i0", "o0", n=2)),
            block(0, -1, 0, step(0, "r", "i0", "s0", "-1 -1 1"))
            + block(1, -1, -1, step(0, "cpy", "s0", "o0", "0 0 1"))
            + block(2, -1, 0, step(0, "r", "i0", "s0", "1 0 0"), step(1, "cpy", "s0", "o1"),
                    channel=1)
            + block(3, -1, 2, step(0, "r", "i0", "s0", needs)),
            block(0, -1, 0, step(0, "r", "i0", "o0", "-1 -1 1", n=2))
            + block(1, 1, -1, step(0, "s", "o1", "s0", "0 0 0")),
        ]  # fmt: skip
        return algo("broadcast", gpus, (2, 2, 1))

    assert simulate(read(twice("1 0 0"), tmp_path, "K3", "broadcast")).complete
    message = r"rank 1, thread block 3, step 0 writes s\[0\] without waiting for .* its unit 0"
    with pytest.raises(RejectedError, match=message):
        read(twice("-1 -1 0"), tmp_path, "K3", "broadcast")


def test_a_step_that_copies_chunks_to_overlapping_chunks_is_refused(tmp_path: Path) -> None:
    """The threads of a block would copy o[0] to o[1] and o[1] to o[2] in an undefined order."""

    def shifted(target: str) -> str:
        copies = [step(0, "cpy", "i0", "o0", n=2), step(1, "cpy", "o0", target, n=2)]
        send, receive = step(2, "s", "i0", "o0", n=3), step(0, "r", "i0", "o0", n=3)
        last = step(3, "cpy", "i0", "o0", n=3)
        gpus = [block(0, 1, -1, *copies, send, last), block(0, -1, 0, receive)]
        return algo("broadcast", gpus, (3, 3, 2))

    for target in ("o0", "s0"):
        assert simulate(read(shifted(target), tmp_path, "K2", "broadcast")).complete
    message = r"rank 0, thread block 0, step 1 writes o\[1\], which it also reads"
    with pytest.raises(RejectedError, match=message):
        read(shifted("o1"), tmp_path, "K2", "broadcast")


def test_an_msccl_file_with_sends_between_nodes_that_are_not_linked_is_refused(
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match="sends to rank 2, but the ranks are not linked in Q2"):
        read(ring(), tmp_path, "Q2", "allgather")


def test_the_error_for_a_violated_port_model_names_the_rank_the_thread_block_and_the_step(
    tmp_path: Path,
) -> None:
    text = direct()
    with pytest.raises(RejectedError, match=r"rank 0, thread block \d, step 0: step 1: .*one-port"):
        read(text, tmp_path, "S3,1", "alltoall", ports="one")
    early = written(schedule("S3", "broadcast", "greedy"))
    first = re.sub(r' step="[23]"', ' step="1"', early)
    with pytest.raises(RejectedError, match=r"rank \d, thread block \d, step 0 sends in step 1"):
        read(first, tmp_path, "S3", "broadcast")


def test_two_thread_blocks_of_a_rank_with_the_same_peer_and_channel_are_refused(
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match="thread blocks 1 and 3 of rank 0 for the same peer"):
        read(direct().replace('chan="1"', 'chan="0"'), tmp_path, "S3,1", "alltoall")


def test_an_msccl_file_with_an_in_place_scatter_is_refused(tmp_path: Path) -> None:
    text = written(schedule("S3", "scatter", "one-port")).replace('inplace="0"', 'inplace="1"')
    with pytest.raises(InputError, match="has an in-place scatter; only broadcast,"):
        read(text, tmp_path, "S3", "scatter")


def summing_ring(collective: str) -> str:
    """Return an in-place reduction on a ring of four nodes, as msccl-tools would write it.

    Ranks use the step type rrs, which forwards a partial sum without storing it.
    """
    gpus = []
    for rank in range(4):
        own = rank if collective == "allreduce" else (rank - 1) % 4
        kinds = ["s", "rrs", "rrs", "rrcs", "rcs", "rcs", "r"]
        if collective == "reduce-scatter":
            kinds = ["s", "rrs", "rrs", "rrc"]
        places = [f"i{(own - back) % 4}" for back in range(len(kinds))]
        steps = [step(n, kind, places[n], places[n]) for n, kind in enumerate(kinds)]
        gpus.append(block(0, (rank + 1) % 4, (rank - 1) % 4, *steps))
    return algo(collective.replace("-", "_"), gpus, (4, 0, 0), 'inplace="1"')


@pytest.mark.parametrize(("collective", "steps"), [("allreduce", 6), ("reduce-scatter", 3)])
def test_reductions_written_by_msccl_tools_are_read(
    tmp_path: Path, collective: Any, steps: int
) -> None:
    back = read(summing_ring(collective), tmp_path, "S4,1", collective)
    assert back.combine is not None
    assert back.combine.sum() == 12
    assert (back.steps, len(back)) == (steps, 4 * steps)
    assert simulate(back).complete
    rccl = summing_ring(collective).replace("reduce_scatter", "reducescatter")
    assert len(read(rccl, tmp_path, "S4,1", collective)) == len(back)


def test_local_reductions_within_a_rank_are_read(tmp_path: Path) -> None:
    """Each rank receives the vectors of all others in its scratch buffer and adds them there."""
    gpus = []
    for rank in range(3):
        others = [(rank + 1) % 3, (rank + 2) % 3]
        adds = [step(n + 1, "re", f"s{n}", "o0", f"{n + 1} 1 0") for n in range(2)]
        blocks = [block(0, -1, -1, step(0, "cpy", "i0", "o0"), *adds)]
        for n, peer in enumerate(others):
            sends = step(0, "s", "i0", "s0")
            blocks.append(block(n + 1, peer, peer, sends, step(1, "r", "i0", f"s{n}", "-1 -1 1")))
        gpus.append("".join(blocks))
    text = algo("allreduce", gpus, (1, 1, 2))
    back = read(text, tmp_path, "S3,1", "allreduce")
    assert (back.steps, len(back), simulate(back).complete) == (1, 6, True)
    with pytest.raises(RejectedError, match=r"rank \d, thread block 0, step 2 counts .* unit 0 tw"):
        read(text.replace('srcbuf="s" srcoff="1"', 'srcbuf="s" srcoff="0"'), tmp_path, "S3,1",
             "allreduce")  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('type="rrs"', 'type="rcs"',
         "rank 0, thread block 0, step 5 leaves unit 3 in o[3] without the contribution of rank 0"),
        ('type="rrcs" srcbuf="i" srcoff="1"', 'type="rrcs" srcbuf="i" srcoff="0"',
         "rank 0, thread block 0, step 3 adds unit 1 to unit 0"),
        ('type="rcs" srcbuf="i" srcoff="0"', 'type="rrcs" srcbuf="i" srcoff="0"',
         "rank 0, thread block 0, step 4 counts the contribution of rank 0 to unit 0 twice"),
        ('type="rrcs"', 'type="rrs"', "leaves unit 1 in o[1] without the contribution of rank 3"),
    ],
)  # fmt: skip
def test_an_msccl_reduction_that_loses_or_repeats_a_contribution_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    changed = summing_ring("allreduce").replace(old, new, 1)
    with refused(message, exit_code=6):
        read(changed, tmp_path, "S4,1", "allreduce")


@pytest.mark.parametrize("collective", ["reduce", "reduce-scatter", "allreduce"])
def test_an_msccl_reduction_in_which_a_receive_step_does_not_add_is_refused(
    tmp_path: Path, collective: Any
) -> None:
    """Each receive step that adds is replaced in turn."""
    algorithm = "ring" if collective == "reduce-scatter" else "greedy"
    text = written(schedule("S3", collective, algorithm))
    adds = list(re.finditer('"rrc"', text))
    assert len(adds) >= 5
    for each in adds:
        lost = text[: each.start()] + '"r"' + text[each.end() :]
        with pytest.raises(RejectedError, match=r"rank \d, thread block \d, step \d"):
            read(lost, tmp_path, "S3", collective)


def exchange() -> Schedule:
    """Return an allreduce on Q2 whose nodes send and receive a sum in the same step."""
    step, sender = np.repeat([1, 2], 4), np.tile(np.arange(4), 2)
    columns = {"step": step, "sender": sender, "port": step, "unit": 0 * step, "combine": step > 0}
    return schedule_from_columns(columns, "Q2", "allreduce")


def test_an_exported_allreduce_sends_each_sum_before_the_next_addition_changes_it(
    tmp_path: Path,
) -> None:
    back = read(written(exchange()), tmp_path, "Q2", "allreduce")
    assert all(np.array_equal(getattr(back, name), getattr(exchange(), name)) for name in COLUMNS)
    outputs = oracle.execute(written(exchange()), Random(1))  # noqa: S311
    everything = sum(oracle.contribution(rank, 0) for rank in range(4))
    assert [outputs[rank, "o", 0] for rank in range(4)] == [everything] * 4


def test_an_msccl_file_that_exceeds_the_size_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(msccl_elements, "_MAX_BYTES", 2000)
    with pytest.raises(LimitError, match="the file contains more than 2,000 bytes"):
        read(ring(), tmp_path, "S4,1", "allgather")


@pytest.mark.parametrize(
    ("begin", "part"), [("<!--", "x"), ("<gpu id='", "0"), ("<?algo ", "x"), ("<a", "a")]
)
def test_a_long_tag_or_comment_is_refused_before_it_ends(
    tmp_path: Path, begin: str, part: str
) -> None:
    """The file is parsed in parts, and the parser would scan a long comment again for each part."""
    text = ring().replace("<gpu", f"{begin}{part * 1_200_000}", 1)
    with pytest.raises(InputError, match="line 3 has a tag or comment of more than 1 MB"):
        read(text, tmp_path, "S4,1", "allgather")


@pytest.mark.parametrize("content", [b"", b"\x00", b"\xff\xfe<\x00", b"a,b\n1,2\n"])
def test_an_msccl_file_that_is_not_xml_or_is_missing_is_refused(
    tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "mine.xml"
    file.write_bytes(content)
    with pytest.raises(StarcastError, match="line 1 is not XML"):
        schedule_from_msccl(file, "S3", "broadcast")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        schedule_from_msccl(tmp_path / "no.xml", "S3", "broadcast")


@pytest.mark.parametrize("seed", range(20))
def test_a_randomly_damaged_msccl_file_is_refused_or_gives_a_complete_schedule(
    tmp_path: Path, seed: int
) -> None:
    """The damage is a replaced attribute value or some deleted bytes. Errors name the file."""
    draw = Random(seed)  # noqa: S311
    values = ["-1", "0", "1", "2", "7", "70", "256", "40000", "9" * 30, "i", "s", "rcs", "cpy"]
    for _ in range(10):
        text = draw.choice((ring(), direct()))
        spec, collective = ("S4,1", "allgather") if "allgather" in text else ("S3,1", "alltoall")
        if draw.random() < 0.7:
            place = draw.choice(list(re.finditer(r'"([^"]*)"', text)))
            text = text[: place.start(1)] + draw.choice(values) + text[place.end(1) :]
        else:
            begin = draw.randrange(len(text))
            text = text[:begin] + text[begin + draw.randrange(1, 99) :]
        refusal = None
        try:
            back = read(text, tmp_path, spec, collective)
        except StarcastError as error:
            refusal = error
        if refusal is None:
            assert simulate(back).complete
        else:
            assert "mine.xml" in refusal.message
            assert refusal.hint


def star_of(gpus: int, latency: int = 0) -> str:
    """Return the spec of a network in which equal links join all GPUs to one switch."""
    links = [(str(rank), "switch") for rank in range(gpus)]
    latencies = [latency] * gpus
    return network(links, name="star", switches=["switch"], latencies=latencies).spec


def test_sends_between_gpus_over_a_switch_take_two_steps(tmp_path: Path) -> None:
    """Each GPU sends four units to the switch, and the switch sends four units to each GPU."""
    back = read(direct(), tmp_path, star_of(3, latency=5), "alltoall")
    result = simulate(back)
    assert (result.steps, result.transmissions, result.complete) == (2, 24, True)
    assert result.largest_packet == 4
    assert timing(back, 64, 100, 1).time == 2 * (100 + 5 + 4 * 64)
    back = read(ring(), tmp_path, star_of(4), "allgather")
    assert (simulate(back).steps, len(back), simulate(back).complete) == (6, 24, True)


def test_sends_between_gpus_follow_a_shortest_path_through_switches_only(tmp_path: Path) -> None:
    """The path from GPU 2 to GPU 3 uses switches a and b. A path over GPU 1 is equally long."""
    links = [("0", "1"), ("1", "a"), ("2", "a"), ("a", "b"), ("3", "b"), ("0", "b"), ("1", "3")]
    made = network(links, name="mixed", switches=["a", "b"])
    back = read(ring(), tmp_path, made.spec, "allgather")
    assert simulate(back).complete
    labels = made.labels().tolist()
    paths = {(labels[u], labels[v]) for u, v in zip(back.sender, back.receiver, strict=True)}
    assert paths == {
        ("0", "1"), ("1", "a"), ("a", "2"), ("2", "a"), ("a", "b"), ("b", "3"), ("3", "b"),
        ("b", "0"),
    }  # fmt: skip
    # The unit of GPU 0 reaches GPU 1 in one step, GPU 2 in two more, and GPU 3 in three more.
    arrivals = {
        (labels[v], int(step))
        for step, v, unit in zip(back.step, back.receiver, back.unit, strict=True)
        if unit == 0
    }
    assert arrivals == {("1", 1), ("a", 2), ("2", 3), ("a", 4), ("b", 5), ("3", 6)}


def test_an_msccl_file_that_sends_partial_sums_over_a_switch_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sends a partial sum to rank 1 over a switch") as refusal:
        read(summing_ring("allreduce"), tmp_path, star_of(4), "allreduce")
    assert refusal.value.hint == "link GPUs that exchange sums, or use K4"
    cycle = [("0", "1"), ("1", "2"), ("2", "3"), ("3", "0")]
    made = network([*cycle, ("0", "s"), ("2", "s")], name="machine", switches=["s"])
    assert simulate(read(summing_ring("allreduce"), tmp_path, made.spec, "allreduce")).complete


def test_a_gpu_id_in_a_schedule_file_is_the_rank_of_a_gpu_in_the_machine_file(
    tmp_path: Path,
) -> None:
    """The machine file lists the ranks 3, 1, 0, 2. NVLinks join rank i to rank i + 1 (modulo 4)."""
    ranks = [3, 1, 0, 2]
    devices = ""
    for rank in ranks:
        links = "".join(
            f'<nvlink target="0:{1 + (rank + way) % 4}:0.0" count="1" tclass="0x030200"/>'
            for way in (1, 3)
        )
        gpu = f'<gpu dev="{ranks.index(rank)}" rank="{rank}" sm="70">{links}</gpu>'
        devices += f'<pci busid="0:{rank + 1}:0.0" class="0x030200">{gpu}</pci>'
    path = tmp_path / "machine.xml"
    path.write_text(f'<system version="1"><cpu numaid="0">{devices}</cpu></system>')
    made = network(path, reporter=Silent())
    for text, collective in ((ring(), "allgather"), (summing_ring("allreduce"), "allreduce")):
        back = read(text, tmp_path, made.spec, collective)
        assert simulate(back).complete
        pairs = {(u, v) for u, v in zip(back.sender.tolist(), back.receiver.tolist(), strict=True)}
        assert pairs == {(rank, (rank + 1) % 4) for rank in range(4)}
    with pytest.raises(InputError, match=r"has 4 GPUs, but star-.* has 3 endpoints"):
        read(ring(), tmp_path, star_of(3), "allgather")
