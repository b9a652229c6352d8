"""The export commands, such as `starcast topology export`: their files and exit codes."""

import json
from pathlib import Path

import networkx as nx
import polars as pl
import pytest

from starcast.collectives import schedule
from support.fix_cli import Starcast, refused

pytestmark = pytest.mark.usefixtures("alone")


MULTIPLE = "schedule export S4 broadcast multiple --segments 2"


def test_exported_csv_equals_the_output_of_schedule_rows(starcast: Starcast) -> None:
    """`schedule export` gives the same CSV on stdout and in a file."""
    for more in ("", "--expand", "--labels 0"):
        words = f"S3 alltoall exact {more}"
        printed = starcast(f"schedule rows {words} -f csv").out
        assert starcast(f"schedule export {words} --to csv").out == printed
        wrote = starcast(f"schedule export {words} --to csv --out rows.csv")
        assert (wrote.code, wrote.out) == (0, "")
        assert "to rows.csv" in wrote.err
        assert Path("rows.csv").read_text() == printed
    starcast(f"{MULTIPLE} --to parquet --out rows.parquet")
    built = schedule("S4", "broadcast", "multiple", segments=2)
    assert len(pl.read_parquet("rows.parquet")) == len(built)


def test_a_schedule_file_can_be_converted_to_another_format(starcast: Starcast) -> None:
    starcast(f"{MULTIPLE} --to goal --out mine.goal")
    command = "schedule export S4 broadcast mine.goal"
    listed = starcast(f"{command} --to csv").rows
    assert len(listed) == len(schedule("S4", "broadcast", "multiple", segments=2))
    trace = "--to chrome-trace --out mine.json --t-s 7 --unit-bytes 1"
    assert starcast(f"{command} {trace}").code == 0
    events = json.loads(Path("mine.json").read_text())["traceEvents"]
    assert min(event["dur"] for event in events if event["ph"] == "X") == 8
    error, _ = refused(starcast(f"{command} --ports one --to goal --out one.goal"), 6)
    assert "one-port: the sender already sends" in error
    assert not Path("one.goal").exists()


def test_topologies_and_forests_are_exported(starcast: Starcast) -> None:
    assert starcast("topology export S4 --to graphml --out s4.graphml").code == 0
    assert nx.read_graphml("s4.graphml").number_of_edges() == 36
    lines = starcast("topology export S4 --to graph6").out
    assert nx.from_graph6_bytes(lines.strip().encode()).number_of_nodes() == 24
    trees = starcast("forest export S4 multiple --to newick").out.splitlines()
    assert len(trees) == 3
    one = starcast("forest export S4 multiple --to newick --tree 2").out
    assert one.splitlines() == trees[2:]
    starcast("forest build S4 multiple --out mine.npz")
    assert starcast("forest export mine.npz --to newick").out.splitlines() == trees
    zeros = starcast("forest export S4 multiple --to newick --labels 0").out
    assert zeros.splitlines()[0].endswith("0123;")
