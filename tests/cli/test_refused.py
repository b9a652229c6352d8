"""Command lines that are refused without a server, with exit code, error and hint."""

from pathlib import Path

import pytest

from starcast.lab import Lab
from starcast.support.settings import Settings
from starcast.trees import forest
from support.fix_cli import Starcast

#: By exit code and command line: the texts that stderr must contain, separated by " … ".
REFUSED = {
    2: {
        "confog": "config",
        "forest show S5 multipel": "multipel",
        "forest show S13 multiple": "S13",
        "forest show S5,2 multiple": "multiple",
        "forest show S5 multiple --root 11345": "11345",
        "forest show S5 multiple --i 2": "'i'",
        "forest show S5 dimension-change --base greedy": "'i'",
        "forest show S5 'dimension-change(base=greedy,i=1)' --i 1": "twice",
        "forest show S5 'dimension-change(i=1'": "dimension-change(i=1",
        "forest show S2 perfectly-balanced": "perfectly-balanced",
        "forest show S5:multiple:12345 --root 12345": "S5:multiple:12345",
        "forest show S5 multiple --verify": "--verify",
        "forest show f.npz --root 4321": "the root and the arguments of an existing forest",
        "forest verify f.npz --i 1": "the root and the arguments of an existing forest",
        "forest verify half.npz": "half.npz",
        "forest verify S5": "S5",
        "forest verify nowhere.npz": "nowhere.npz",
        "forest verify .": "'.'",
        "forest verify LONG": "is not a file",
        "forest verify S4 'greedy(topology=1)'": "'topology'",
        "forest verify S4 'greedy(construction=1)'": "'construction'",
        "forest verify S4 'greedy(root=1)'": "'root'",
        "forest draw S4 multiple --tree 3": "tree 3",
        "forest draw S4 greedy --out no/such/folder.svg": "folder.svg",
        "forest build S4 greedy --out no/such/folder.npz": "folder.npz",
        "forest build S4 greedy --out .": "folder",
        "forest build S4 greedy --out f.svg": "the file format is NPZ",
        "forest constructions T5": "T5",
        "topology show S0": "S0",
        "forest verify S9 greedy --jobs 2": "--jobs applies only to",
        "forest verify S9 --blocks": "no construction is given after 'S9'",
        "forest verify S9 'greedy(root=1)' --blocks": "with the argument 'root'",
        "forest verify S9 'label-change(base=a)' --base b --blocks": "twice",
        "forest verify S9 greedy --blocks --shard 1/2": "--shard is given without --out FILE",
        "forest verify S9 greedy --blocks --shard 3/2 --out x": "3/2 is out of range",
        "forest verify S9 greedy --blocks --jobs 0": "the number of jobs is 0, less than 1",
        "forest verify S9 greedy --blocks --workers slurm": "'slurm' does not begin with 'dask:'",
        "forest verify S9 greedy --blocks --workers dask:tcp://a:1 --jobs 2": "cannot be combined",
        "forest verify S9 greedy --blocks --workers dask:127.0.0.1": "'127.0.0.1' is not the",
        "schedule simulate S5 scatter perfectly-balanced --messages 3": "must be a multiple of n-1",
        "schedule simulate S5 broadcast multiple --fault 12354-12345": "is not a link of S5",
        "schedule simulate S5 broadcast multiple --fault 21345@0": "needs an integer step from 1",
        "schedule simulate S5 broadcast multiple --fault nowhere": "nowhere",
        "schedule simulate S5 broadcast 'edge-disjoint(copies=2'": "is not a valid algorithm",
        "schedule simulate S4 scatter balanced --acknowledged": "is not an allgather",
        "schedule simulate S5 broadcast 'edge-disjoint(copies=2)' --copies 2": "'copies' is given",
        "schedule simulate S4 broadcast 'greedy(topology=1)'": "'topology'",
        "schedule simulate S4 broadcast 'greedy(collective=1)'": "'collective'",
        "schedule simulate S4 broadcast 'greedy(algorithm=1)'": "'algorithm'",
        "schedule simulate S4 broadcast 'greedy(ports=1)'": "'ports'",
        "schedule simulate S4 broadcast 'greedy(root=1)'": "'root'",
        "schedule simulate S4 broadcast mine.csv --copies 2": "--copies cannot be combined",
        "schedule simulate S4 barrier mine.csv": "unknown collective 'barrier'",
        "schedule simulate S4 broadcast mine.csv --ports two": "'two' is not one of",
        "schedule simulate S4 broadcast none.csv": "none.csv cannot be read",
        "schedule simulate S4 broadcast mine.csv": "mine.csv, line 3 has the invalid unit 'NaN'",
        "schedule simulate S3 broadcast cut.goal": "cut.goal, line",
        "schedule simulate S4 broadcast cut.goal": "6 ranks, but the topology has 24 nodes",
        "schedule import cut.goal --topology S3 --collective broadcast": "cut.goal, line",
        "schedule import cut.xml --topology S3 --collective broadcast": "cut.xml: line 1",
        "schedule import cut.goal --topology S3": "--collective",
        "schedule time S4 broadcast multiple --segments 4 --t-c x": "t_c is 'x', which",
        "schedule time S4 broadcast multiple --segments 4 --execution clocked": "'clocked' is not",
        "schedule algorithms --collective barrier": "unknown collective 'barrier'",
        "schedule rows S3 broadcast greedy --labels 2": "'--labels'",
        "schedule rows S3 broadcast greedy --labels x": "'--labels'",
        "explore S4 --forest oak --out page.html": "oak",
        "explore S4 --schedule multiple --out page.html": "'multiple' is not the short name",
        "explore S4 --schedule broadcast:telepathy --out page.html": "telepathy",
        "explore S4 --schedule broadcast:multiple --root 9999 --out page.html": "9999",
        "schedule draw S4 broadcast greedy --step 1 --animate": "--step and --animate",
        "schedule draw S4 broadcast greedy --chart --layout torus": "a chart has no layout",
        "forest draw S4 multiple --all --tree 1": "--tree and --all",
        "schedule draw S4 broadcast greedy --animate --out a.png": "animation",
        "schedule draw S4 broadcast greedy --step 9": "has no step 9",
        "topology export S4 --to xml": "'xml' is not one of",
        "topology export S1 --to dot": "S1",
        "topology export S4 --to dot --out s4.xml": "ends in '.xml'",
        "topology export S4 --to dot --out no/s4.dot": "cannot be written",
        "schedule export S4 broadcast multiple --to parquet": "parquet is not text",
        "schedule export S4 broadcast multiple --to chrome-trace --t-c -1": "t_c must not be",
        "cost table S13": "",
        "cost table S4 --ports both": "",
        "cost table S4 -m much": "",
        "cost table S4 --t-s 0": "",
        "cost table S4 --t-c -1": "",
        "cost table S4 --segments worst": "",
        "cost table S4 --max-rows -1": "",
        "cost optimum S6 broadcast gready": "",
        "cost optimum S6 broadcast greedy --copies 2": "",
        "cost optimum Q4 broadcast greedy": "",
        "search bisection S4": "unknown problem 'bisection'",
        "search bisection-width S0": "the star graph S0 is out of range",
        "search bisection-width S4 --timeout -1": "timeout",
        "search bisection-width S4 --shard 3/2 --out x": "3/2 is out of range",
        "search bisection-width S4 --shard 1/2": "--shard is given without --out FILE",
        "search bisection-width S4 --workers tcp://a:1": "does not begin with 'dask:'",
        "search bisection-width S4 --jobs 2 --workers dask:tcp://a:1": "cannot be combined",
        "records list other": "unknown problem 'other'",
        "records prove fault-diameter S4 --out s4.drat": ".lrat",
        "records prove fault-diameter S4 --proof none": "cannot be read",
        "query run tree-path forest=S4:multiple:1234": "the parameter 'tree' is missing",
        "query run neighbours topology=S4 node=1244": "1244",
        "query run neighbours topology=T4 node=1234": "unknown topology 'T4'",
        "query run neighbours S4": "'S4' assigns no value to a parameter",
        "query run neighbours topology=S4 topology=S5": "the parameter 'topology' is given twice",
        "query run nowhere.cypher": "nowhere.cypher cannot be read",
        "query run neighbours topology=S4 node=1234 --limit 0": "invalid row limit 0",
        "query run neighbours topology=S4 node=1234 --timeout 0": "invalid time limit 0.0",
        "query run neighbours topology=S4 row_limit=1": "the query has no parameter 'row_limit'",
        "query run cut-off forest=S4:multiple:1234 dead_links=1234-1243": "'1234-1243' is not a",
        "query run cut-off forest=S4:multiple:1234 dead_links=1234": "must be a list a,b,c",
        "query run cut-off forest=S4:multiple:1234 dead_nodes=1234,12345": "'12345'",
        "query run load-histogram forest=S4:multiple:1234 -f svg": "none of its columns (",
        "query run neighbours topology=S4 node=1234 --out a.svg": "--out applies only to drawings",
        "query run neighbours topology=S4 node=1234 --layout ring": "--layout applies only to",
        "query ask 'CREATE (n)'": "a query must begin with a reading clause",
        "query ask 'MATCH (n) DETACH DELETE n RETURN 1 AS a'": "read-only: DETACH writes",
        "query ask 'MATCH (n) CALL db.labels() YIELD label RETURN label'": "CALL of a procedure",
        "query ask 'RETURN $a AS a'": "the parameter $a has no value",
        "query ask 'RETURN $a AS a' a=1 b=2": "the statement has no parameter $b",
        "query ask 'RETURN $a AS a' a=1 a:=2": "the parameter 'a' is given twice",
        "query ask 'RETURN $a AS a' 'a:=[1'": "the value of 'a:=[1' is not JSON",
        "query ask 'RETURN $a AS a' 5": "'5' assigns no value to a parameter",
        "query ask nowhere.cypher": "nowhere.cypher cannot be read",
        "query ask data.cypher": "data.cypher is not valid UTF-8",
        "forest list T9": "T9",
        "schedule list T9": "T9",
        "ingest S0": "S0",
        "ingest S13": "S13",
        "ingest S5,9": "S5,9",
        "ingest T4": "T4",
        "ingest S5 --schedules no-such-algorithm": "no-such-algorithm",
        "ingest S5 --trees all --root 1234": "1234",
        "ingest S5 --trees all --root 11345": "11345",
        "ingest S5 --ports many": "many",
        "compare ours --across speed": "'speed' is not an axis of a comparison",
        "compare ours --across message_bytes": "cannot differ in message_bytes",
        "compare ours --across algorithm": "--across need not name algorithm",
        "compare ours --where topology": "'topology' is not a valid condition",
        "compare ours --where speed=1": "'speed' cannot be used in a condition",
        "compare ours --plot plot.gif": "must end in .svg, .pdf or .png: plot.gif",
        "compare ours --plot plot": "must end in .svg, .pdf or .png: plot",
        "claims check TS.L55": "unknown claim 'TS.L55' … did you mean TS.L5",
        "claims show ts.l5x": "unknown claim 'ts.l5x' … did you mean TS.L5",
        "claims show 'nothing at all'": "unknown claim 'nothing at all' … claims list'",
        "claims list ts": "unknown claim 'ts' … did you mean TS.",
        "claims check TS.L5 --sizes Q3": "claim TS.L5 is not about Q3 … verify the claim on S3, S4",
        "claims check TS.L5 --sizes ,": "the list of topologies is empty … S4,S5",
        "claims check --level full --sizes S3": "--level and --sizes cannot be combined",
        "claims check TS.L5 --jobs 0": "the number of jobs is 0, less than 1 … --jobs 1",
        "claims check TS.L5 --sizes S3,S4,2": "claim TS.L5 is not about S4,2",
        "claims report --out page.pdf": "the file format is MD … .md",
        "forest build S4 greedy --out forest.svg": "ends in '.svg'",
        "forest draw S4 greedy --out tree.jpg": "ends in '.jpg'",
        "topology draw S4 --out star.html": "ends in '.html'",
        "schedule draw S4 broadcast greedy --out steps.gif": "ends in '.gif'",
        "explore S4 --out page.pdf": "ends in '.pdf'",
        "compare a b --format html --out page.pdf": "ends in '.pdf'",
        "query run shortest-path topology=S4 -f svg --out paths.gif": "ends in '.gif'",
    },
    3: {
        "records show one-port-broadcast S10": "starcast search one-port-broadcast S10",
        "query run neighbour topology=S4": "unknown query 'neighbour'",
    },
    4: {
        "query ask 'RETURN 1 AS a'": "is not running",
        "query run shortest-path topology=S4 source=1234 target=2143": "is not running … up'",
        "claims list --verdict fails": " up'",
        "claims report": " up'",
        "claims changed": " up'",
        "claims runs": " up'",
    },
    6: {"records prove one-port-broadcast S4": "needs no proof"},
    7: {
        "explore S9 --out page.html": "S9 has 362,880 nodes",
        "schedule draw S7 broadcast greedy": "5,040 nodes",
        "search one-port-broadcast S10 --memory 300": "the limit is 300 MB",
        "records prove fault-diameter S6 --proof-timeout 0.1": "takes more than 0.1 s",
        "claims check TS.L5 --sizes S12": "not enough memory for the arrays … on S12 … smaller",
    },
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with forest and schedule files, some of which are damaged."""
    folder = tmp_path_factory.mktemp("files")
    forest("S4", "greedy").save(folder / "f.npz")
    (folder / "half.npz").write_bytes((folder / "f.npz").read_bytes()[:400])
    (folder / "mine.csv").write_text("step,sender,port,unit\n1,1234,2,0\n1,1234,3,NaN\n")
    file = Lab(Settings.load).export_schedule("S3", "broadcast", "greedy", to="goal")
    goal = b"".join(file.parts())
    (folder / "cut.goal").write_bytes(goal[: len(goal) // 2])
    (folder / "cut.xml").write_text("<!DOCTYPE algo SYSTEM 'other.xml'><algo/>")
    (folder / "data.cypher").write_bytes(b"\xff\xfe")
    return folder


@pytest.mark.whole
@pytest.mark.parametrize(
    ("code", "line", "words"),
    [(code, *case) for code, cases in REFUSED.items() for case in cases.items()],
)
def test_invalid_input_is_refused_with_an_error_and_a_hint(
    starcast: Starcast,
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
    line: str,
    words: str,
) -> None:
    monkeypatch.chdir(files)
    monkeypatch.setenv("STARCAST_HOME", str(files / "home"))
    before = set(files.rglob("*"))
    result = starcast(line.replace("LONG", "S" * 5_000))
    assert (result.code, result.out) == (code, "")
    first, *rest = result.err.splitlines()
    if not first.startswith("Usage: "):
        assert [part.partition(":")[0] for part in [first, *rest][-2:]] == ["error", "hint"]
    assert all(part in " ".join(result.err.split()) for part in words.split(" … "))
    assert "Traceback" not in result.err
    assert set(files.rglob("*")) == before
