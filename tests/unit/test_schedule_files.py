"""Schedule files written by other programs: GOAL, spreadsheet CSV, and files with any suffix."""

import os
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import starcast
from starcast import StarcastError, schedule_from_columns, simulate
from starcast.experiments.design import read_design
from starcast.formats import read_schedule, render
from starcast.formats.reading import READERS
from starcast.lab import Lab
from starcast.queries.query import Query
from starcast.support.limited import decode_text
from starcast.support.settings import Settings
from support.meeting import refused

#: A binomial broadcast on Q3 by MPI: all messages of a collective have the same tag.
MPI = """num_ranks 8

rank 0 {
a: send 8b to 4 tag 42001
b: send 8b to 2 tag 42001
c: send 8b to 1 tag 42001
}
rank 1 {
a: recv 8b from 0 tag 42001
}
rank 2 {
a: recv 8b from 0 tag 42001
b: send 8b to 3 tag 42001
b requires a
}
rank 3 {
a: recv 8b from 2 tag 42001
}
rank 4 {
a: recv 8b from 0 tag 42001
b: send 8b to 6 tag 42001
c: send 8b to 5 tag 42001
b requires a
c requires a
}
rank 5 {
a: recv 8b from 4 tag 42001
}
rank 6 {
a: recv 8b from 4 tag 42001
b: send 8b to 7 tag 42001
b requires a
}
rank 7 {
a: recv 8b from 6 tag 42001
}
"""
CSV = "step,sender,port,unit\n1,12,2,0\n"
XML = '<algo name="a" ngpus="2" coll="broadcast"></algo>\n'


def tags_by_receiver(first: int) -> str:
    """Return the broadcast `MPI` with a different tag for each receiver."""
    text = re.sub(r"(send .* to (\d)) tag \d+", lambda m: f"{m[1]} tag {first + int(m[2])}", MPI)
    rank = 0
    lines = []
    for line in text.splitlines():
        if line.startswith("rank"):
            rank = int(line.split()[1])
        lines.append(re.sub(r"(recv .*) tag \d+", rf"\1 tag {first + rank}", line))
    return "\n".join(lines)


@pytest.mark.whole
@pytest.mark.parametrize(
    "text",
    [MPI, MPI.replace("42001", "4294967297"), MPI.replace(" tag 42001", ""), tags_by_receiver(-1),
     tags_by_receiver(900), MPI.replace("\n", "\r\n"), "\ufeff" + MPI, MPI.replace("\n", "\r"),
     MPI.replace("42001\n", "42001 // to a child\n")],
)  # fmt: skip
def test_a_broadcast_in_a_goal_file_is_read_with_different_tags_and_line_endings(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / "mpi.goal"
    file.write_bytes(text.encode())
    read = read_schedule(file, "Q3", "broadcast")
    result = simulate(read)
    assert (result.complete, result.steps, read.units) == (True, 3, 1)


def test_broadcast_segments_in_a_goal_file_are_numbered_in_the_order_of_their_tags(
    tmp_path: Path,
) -> None:
    """Only the tags show that segment 1 is sent before segment 0.

    The tags need not be consecutive numbers.
    """
    file = tmp_path / "two.goal"
    send = "a: send 1b to 1 tag 70\nb: send 1b to 1 tag 30\nb requires a\n"
    receive = "a: recv 1b from 0 tag 70\nb: recv 1b from 0 tag 30\n"
    file.write_text(f"num_ranks 2\nrank 0 {{\n{send}}}\nrank 1 {{\n{receive}}}\n")
    read = read_schedule(file, "Q1", "broadcast")
    assert (read.step.tolist(), read.unit.tolist()) == ([1, 2], [1, 0])
    file.write_text(file.read_text().replace("tag 70", "tag 30"))
    assert read_schedule(file, "Q1", "broadcast").unit.tolist() == [0, 1]


def direct(pairs: list[tuple[int, int]], nodes: int, tag: Callable[[int, int], int]) -> str:
    """Return a GOAL file that sends one message per pair of nodes, without dependencies."""
    lines = [f"num_ranks {nodes}"]
    for rank in range(nodes):
        sends = [f"send 8b to {b} tag {tag(a, b)}" for a, b in pairs if a == rank]
        receives = [f"recv 8b from {a} tag {tag(a, b)}" for a, b in pairs if b == rank]
        lines += [f"rank {rank} {{", *sends, *receives, "}"]
    return "\n".join(lines)


PAIRS = [(a, b) for a in range(4) for b in range(4) if a != b]
STARS = {
    "gather": [(a, 0) for a in range(1, 4)],
    "scatter": [(0, b) for b in range(1, 4)],
    "allgather": PAIRS,
    "alltoall": PAIRS,
}


@pytest.mark.whole
@pytest.mark.parametrize("collective", STARS)
@pytest.mark.parametrize(
    "tag", [lambda *_: 42001, lambda a, b: (a - b) % 4, lambda a, b: 70 * a + 9 * b]
)
def test_a_direct_exchange_in_a_goal_file_is_read_with_different_tags(
    tmp_path: Path, collective: Any, tag: Callable[[int, int], int]
) -> None:
    """In the one-port model, a node sends and receives its messages one after another."""
    file = tmp_path / "direct.goal"
    file.write_text(direct(STARS[collective], 4, tag))
    result = simulate(read_schedule(file, "K4", collective))
    assert (result.complete, result.steps) == (True, 1)
    result = simulate(read_schedule(file, "K4", collective, "one"))
    assert (result.complete, result.violation) == (True, None)
    assert 3 <= result.steps <= 7
    missing = direct(STARS[collective][:-1], 4, tag)
    file.write_text(missing)
    assert simulate(read_schedule(file, "K4", collective)).missing == 1


def test_an_exchange_in_a_goal_file_is_refused_if_its_units_are_uncertain(
    tmp_path: Path,
) -> None:
    """If the numbers or sizes of messages differ, a message may forward units of other nodes."""
    file = tmp_path / "mine.goal"
    more = direct([*PAIRS, (0, 1)], 4, lambda *_: 1)
    larger = direct(PAIRS[:-1], 4, lambda a, b: 70 * a + 9 * b)
    larger = re.sub("8b (to|from) (.) tag 9\n", r"16b \1 \2 tag 9\n", larger)
    for collective in ("allgather", "alltoall"):
        for text in (more, larger):
            file.write_text(text)
            with refused("mine.goal: if the units are derived from tags", "does not receive unit"):
                read_schedule(file, "K4", collective)
        pairs = [(a, b) for a, b in PAIRS if a ^ b != 3]
        file.write_text(direct(pairs, 4, lambda *_: 1))
        with refused("line 3 has a send of an unknown unit"):
            read_schedule(file, "K4", collective)


def test_messages_that_a_switch_forwards_are_not_read_as_its_own_messages(tmp_path: Path) -> None:
    network = starcast.network([("a", "s"), ("s", "b")], switches=["s"])
    file = tmp_path / "mine.goal"
    hops = [(0, 2), (2, 1), (1, 2), (2, 0)]
    for collective in ("allgather", "alltoall"):
        file.write_text(direct(hops, 3, lambda a, b: 70 * a + 9 * b))
        with refused("line 3 has a send of an unknown unit"):
            read_schedule(file, network, collective)
        text = direct(hops, 3, lambda a, b: int((a, b) in hops[2:]))
        text = text.replace("recv 8b from 0 tag 0", "a: recv 8b from 0 tag 0\nb requires a")
        text = text.replace("send 8b to 1 tag 0", "b: send 8b to 1 tag 0")
        text = text.replace("recv 8b from 1 tag 1", "c: recv 8b from 1 tag 1\nd requires c")
        file.write_text(text.replace("send 8b to 0 tag 1", "d: send 8b to 0 tag 1"))
        assert simulate(read_schedule(file, network, collective)).complete


def tagged_by_unit(built: starcast.Schedule) -> str:
    """Return a schedule as a GOAL file without comments in which each tag is 10 plus the unit."""
    text = b"".join(render(built.expand(), "goal")).decode()
    tags = {}
    for unit, tag in re.findall(r"// unit (\d+) .*\ns\d+: send .* tag (\d+)", text):
        tags[tag] = str(10 + int(unit))
    text = re.sub(r"(?m)^//.*\n", "", text)
    return re.sub(r"tag (\d+)", lambda match: f"tag {tags[match[1]]}", text)


@pytest.mark.parametrize(
    "case",
    [
        ("S4", "scatter", "balanced", "all", {"messages": 2, "root": 5}),
        ("S4", "gather", "one-port", "one", {}),
        ("S4", "alltoall", "exact", "all", {}),
        ("S3", "allgather", "necklace", "all", {"messages": 2}),
        ("S4", "broadcast", "greedy", "one", {"segments": 2, "root": 23}),
    ],
    ids=str,
)
def test_units_are_recovered_from_a_goal_file_in_which_each_unit_has_its_own_tag(
    tmp_path: Path, case: Any
) -> None:
    """Each send has its original unit, although the tags differ from the unit numbers."""
    *names, arguments = case
    built = starcast.schedule(*names, **arguments)
    file = tmp_path / "tags.goal"
    file.write_text(tagged_by_unit(built))
    read = read_schedule(file, built.topology, built.collective, built.ports, built.root)
    assert simulate(read).complete
    assert read.units == built.expand().units
    sent = [
        Counter(zip(each.sender.tolist(), each.receiver.tolist(), each.unit.tolist(), strict=True))
        for each in (read, built.expand())
    ]
    assert sent[0] == sent[1]
    if built.collective != "broadcast":
        # The tags of starcast number packets. Without comments, they do not determine the units.
        text = b"".join(render(built, "goal")).decode()
        file.write_text(re.sub(r"(?m)^//.*\n", "", text))
        with refused("in which tags or addresses identify the units"):
            read_schedule(file, built.topology, built.collective, built.ports, built.root)


@pytest.mark.whole
@pytest.mark.parametrize("collective", ["reduce", "reduce-scatter", "allreduce"])
def test_a_reduction_in_a_goal_file_without_comments_is_refused_with_a_reason(
    tmp_path: Path, collective: Any
) -> None:
    (tmp_path / "mpi.goal").write_text(MPI)
    with refused("mpi.goal, line 4 has a send without comments", "data, which GOAL files do not"):
        read_schedule(tmp_path / "mpi.goal", "Q3", collective)


def test_a_goal_file_whose_sends_do_not_perform_the_given_collective_is_refused(
    tmp_path: Path,
) -> None:
    file = tmp_path / "mpi.goal"
    file.write_text(MPI)
    with refused("are not a broadcast with the root 001: step 1: 000 sends", exit_code=6):
        read_schedule(file, "Q3", "broadcast", root=1)
    for collective in ("gather", "scatter", "alltoall", "allgather"):
        with refused("line 4 has a send of an unknown unit: the sends are not a"):
            read_schedule(file, "Q3", collective)
    ring = direct([(rank, (rank + 1) % 4) for rank in range(4)], 4, lambda *_: 7)
    file.write_text(ring)
    with refused("are not a broadcast", exit_code=6):
        read_schedule(file, "K4", "broadcast")
    # Without its `requires`, a node forwards a unit that it has not received yet.
    file.write_text(MPI.replace("b requires a\nc requires a\n", ""))
    with refused("the sender does not hold the unit yet", exit_code=6):
        read_schedule(file, "Q3", "broadcast")


def test_in_the_one_port_model_a_node_sends_in_the_order_of_the_goal_file(tmp_path: Path) -> None:
    """Node 0 sends to nodes 4, 2 and 1. The expected rows were determined by hand."""
    (tmp_path / "mpi.goal").write_text(MPI)
    read = read_schedule(tmp_path / "mpi.goal", "Q3", "broadcast", "one")
    result = simulate(read)
    assert (result.complete, result.steps, result.violation) == (True, 3, None)
    rows = zip(read.step, read.sender, read.receiver, strict=True)
    assert {tuple(map(int, row)) for row in rows} == {
        (1, 0, 4), (2, 0, 2), (3, 0, 1), (2, 4, 6), (3, 4, 5), (3, 2, 3), (3, 6, 7)
    }  # fmt: skip


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.txt", MPI, "goal"),
        ("a.csv", "// starcast\nnum_ranks 8\n", "goal"),
        ("a.goal", CSV, "csv"),
        ("a.xml", '"unit";"sender";"step"\n', "csv"),
        ("a.txt", XML, "msccl-xml"),
        ("a", f'<?xml version="1.0"?>\n<!-- by hand -->\n{XML}', "msccl-xml"),
        ("a.txt", f"<!-- a licence{' - and more' * 1000} -->\n{XML}", "msccl-xml"),
        ("a.csv", '{"name": "two", "collective": "allgather", "gpus": []}', "mscclpp-json"),
        ("a.json", "?", "mscclpp-json"),
        ("a.goal", "", "goal"),
        ("a.xml", "?", "msccl-xml"),
        ("a.dat", "time,node\n", "csv"),
    ],
)
def test_the_format_of_a_schedule_file_is_detected_from_its_content_before_its_suffix(
    tmp_path: Path, name: str, content: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_as: list[str] = []
    for each in READERS:
        monkeypatch.setitem(READERS, each, lambda *_, each=each: read_as.append(each))
    for encoding in ("utf-8", "utf-16"):
        (tmp_path / name).write_text(content, encoding)
        read_schedule(tmp_path / name, "Q3", "broadcast")
    assert read_as == [expected, expected]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("content", "noun"),
    [
        (b'<?xml version="1.0"?>\n<graphml xmlns="x"><graph/></graphml>', "GraphML"),
        (b"<system/>", "XML"),
        (b"[1, 2]", "JSON"),
        (b"PAR1\x15\x04", "Parquet"),
        (b"PK\x03\x04\x14\0", "a spreadsheet or zip archive"),
        (b"\x1f\x8b\x08\0", "a compressed file"),
    ],
)
def test_the_error_for_an_unsupported_schedule_file_names_its_and_all_supported_formats(
    tmp_path: Path, content: bytes, noun: str
) -> None:
    for name in ("a.csv", "a.goal", "a.txt"):
        (tmp_path / name).write_bytes(content)
        with refused(f"{name} seems to be {noun}; schedules are read from CSV, GOAL") as refusal:
            read_schedule(tmp_path / name, "S3", "broadcast")
        assert "`file_format` csv, goal, msccl-xml or mscclpp-json" in refusal.value.hint


def test_the_format_of_a_schedule_file_can_be_given_or_an_error_names_the_detected_format(
    tmp_path: Path,
) -> None:
    lab = Lab(Settings.load)
    file = tmp_path / "sends"
    file.write_text("/* my\nsteps, sender */\n" + MPI)
    for algorithm in (str(file), file):
        facts = lab.simulate_schedule("Q3", "broadcast", algorithm)
        assert facts["complete"]
    with refused("sends, line 1 has no column 'step'") as refusal:
        lab.import_schedule(file, topology="Q3", collective="broadcast", file_format="csv")
    assert "file_format" not in refusal.value.hint
    file.write_text("time,node")
    with refused("sends, line 1 has no column 'step'") as refusal:
        lab.import_schedule(file, topology="Q3", collective="broadcast")
    assert "was read as csv" in refusal.value.hint
    reader, writer = os.pipe()
    os.write(writer, MPI.encode())
    os.close(writer)
    with refused("line 1 has no column 'step'") as refusal:
        read_schedule(f"/dev/fd/{reader}", "Q3", "broadcast")
    assert "was read as csv" in refusal.value.hint
    os.close(reader)
    with refused("unknown schedule file format 'xml'"):
        read_schedule(file, "Q3", "broadcast", file_format="xml")  # type: ignore[arg-type]


@pytest.mark.whole
@pytest.mark.parametrize(
    "content",
    [
        CSV.replace(",", ";"),
        CSV.replace(",", "\t"),
        CSV.replace(",", " ; "),
        CSV.replace("\n", "\r"),
        CSV.replace("\n", ",\r\n"),
        CSV.replace("2,0", "2,0,"),
        '\n\n"step", "sender", "port", "unit"\n"1","12","2","0"\n,,,\n\n',
        ",step,sender,port,unit\n0,1,12,2,0\n",
        CSV.upper(),
        "step,sender,port,unit\n1.0,12,2.0,0.\n",
    ],
)
def test_csv_files_of_spreadsheets_and_data_frames_are_read(tmp_path: Path, content: str) -> None:
    file = tmp_path / "mine.csv"
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"):
        file.write_bytes(content.encode(encoding))
        read = read_schedule(file, "S2", "broadcast")
        columns = (read.step, read.sender, read.port, read.unit)
        assert [column.tolist() for column in columns] == [[1], [0], [2], [0]]


@pytest.mark.parametrize("text", ["True", "TRUE", "true", "1"])
def test_boolean_values_in_csv_files_of_data_frames_are_read(tmp_path: Path, text: str) -> None:
    file = tmp_path / "truth.csv"
    file.write_text(f'"step","sender","port","unit","combine"\n1,12,2,0,{text}\n')
    assert simulate(read_schedule(file, "S2", "reduce", root="21")).complete


def test_the_hint_for_an_unknown_column_names_the_columns_that_the_collective_accepts(
    tmp_path: Path,
) -> None:
    file = tmp_path / "units.csv"
    for collective, columns in (
        ("broadcast", "step,sender,port,unit; tree, receiver are optional"),
        ("reduce", "step,sender,port,unit,combine; tree, receiver are optional"),
    ):
        file.write_text("step,sender,port,unit,units\n1,123,2,0,1\n")
        with refused("line 1 has the unknown column 'units'") as refusal:
            read_schedule(file, "S3", collective)  # type: ignore[arg-type]
        assert columns in refusal.value.hint


@pytest.mark.whole
@pytest.mark.parametrize(
    ("collective", "changes"),
    [
        ("broadcast", {"step": [1, 10**9]}),
        ("broadcast", {"unit": [0, 2**31 - 1]}),
        ("scatter", {"unit": [0, 10**8]}),
        ("reduce", {"unit": [0, 10**8]}),
        ("allreduce", {"unit": [600_000, 600_000], "tree": [0, 255]}),
    ],
)
def test_a_schedule_with_few_rows_but_huge_step_or_unit_numbers_is_refused(
    collective: Any, changes: dict[str, Any]
) -> None:
    columns: dict[str, Any] = {"step": [1, 2], "sender": [0, 0], "port": [2, 2], "unit": [0, 0]}
    columns["combine"] = None if collective in ("broadcast", "scatter") else [1, 1]
    built = schedule_from_columns(columns | changes, "S3", collective)
    for examine in (simulate, starcast.timing, lambda each: simulate(each, ["231"])):
        with refused("are too many", exit_code=7):
            examine(built)


def test_step_numbers_may_have_large_gaps_and_complete_schedules_may_have_many_units(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns: dict[str, Any] = {
        "step": [1, 900_000],
        "sender": [0, 0],
        "port": [2, 2],
        "unit": [0, 200_000],
    }
    result = simulate(schedule_from_columns(columns, "S3", "broadcast"))
    assert (result.steps, result.links_used.sum()) == (900_000, 2)
    monkeypatch.setattr("starcast.judges.simulator.ownership._MAX_SPARSE_PAIRS", 100)
    many = 1_000
    rows = np.arange(many)
    columns = {"step": rows + 1, "sender": 0 * rows, "port": 2 + 0 * rows, "unit": rows}
    assert simulate(schedule_from_columns(columns, "S2", "broadcast")).complete


def test_text_files_in_utf_8_and_utf_16_are_read_and_others_refused(tmp_path: Path) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"):
        assert decode_text("a = 1\r\nb = 2\r# é".encode(encoding)) == "a = 1\nb = 2\n# é"
    grid = '[[grid]]\ntopology = "S4"\nalgorithm = "multiple"\nmessage_bytes = 1\n'
    query = tmp_path / "one.cypher"
    file = tmp_path / "grid.toml"
    file.write_bytes(b"\xef\xbb\xbf" + grid.encode())
    assert read_design(str(file)) is not None
    file.write_bytes(f"{grid}# \N{LATIN SMALL LETTER E WITH ACUTE}".encode("latin-1"))
    with refused("grid.toml cannot be read as TOML: line 5 is not valid UTF-8: convert"):
        read_design(str(file))
    query.write_bytes(b"// \xe9\nRETURN 1")
    with refused("one.cypher: line 1 is not valid UTF-8"):
        Query.read(query)
    query.write_bytes(BROKEN_UTF_16)
    with refused("one.cypher: line 1 is not valid UTF-16"):
        Query.read(query)


#: A byte order mark, a complete character, and the first half of a character.
BROKEN_UTF_16 = b"\xff\xfea\x00b"


@pytest.mark.whole
@pytest.mark.parametrize("file_format", ["csv", "goal"])
def test_an_invalid_utf_16_schedule_file_is_refused(tmp_path: Path, file_format: Any) -> None:
    file = tmp_path / "schedule"
    file.write_bytes(BROKEN_UTF_16)
    with refused(f"{file} starts like a UTF-16 file but is not valid UTF-16"):
        read_schedule(file, "K3", "broadcast", file_format=file_format)


@given(
    start=st.sampled_from((MPI, CSV, XML)),
    edits=st.lists(st.tuples(st.integers(0, 400), st.binary(max_size=4)), max_size=4),
    suffix=st.sampled_from(("csv", "goal", "xml", "txt")),
)
def test_reading_a_damaged_schedule_file_raises_only_starcast_errors(
    tmp_path_factory: pytest.TempPathFactory, start: str, edits: Any, suffix: str
) -> None:
    data = start.encode()
    for place, part in edits:
        data = data[:place] + part + data[place + len(part) // 2 :]
    file = tmp_path_factory.getbasetemp() / f"damaged.{suffix}"
    file.write_bytes(data)
    with suppress(StarcastError):
        simulate(read_schedule(file, "Q3", "broadcast"))
