"""Inputs that once caused an internal error are refused with a one-line message."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import starcast
from starcast.collectives import schedule
from starcast.lab import Lab
from starcast.records import load_record, path_of, shipped_folder, verify
from starcast.stores.database.backup import read_manifest
from starcast.support.installation import source_digest
from starcast.support.settings import Settings
from starcast.support.shards import ShardKind
from starcast.topologies import topology
from starcast.trees import Forest, forest
from support.meeting import refused
from support.shards import content_of_shard, merge, seal

Read = Callable[[Path], object]


MANIFEST: dict[str, Any] = {
    "format": "starcast backup 1", "created_at": "2026-11-24T12:00:00Z", "starcast": "0.1.0",
    "postgres": "18.1", "revision": "0001", "store": "7f6bb8a3-9c1b-4bd4-a1a7-3f1bd0ac3a01",
    "tables": {"run": {"rows": 3, "checksum": "1a"}},
}  # fmt: skip


def backup(method: int = zipfile.ZIP_STORED, flags: int = 0, text: str = "", **fields: Any) -> Read:
    """Return a function that reads a backup with a changed manifest or archive entry."""

    def read(folder: Path) -> object:
        file = folder / "a.backup"
        with zipfile.ZipFile(file, "w", method) as archive:
            archive.writestr("postgres.dump", b"PGDMP")
            archive.writestr("manifest.json", text or json.dumps({**MANIFEST, **fields}))
        content = bytearray(file.read_bytes())
        place = content.index(b"PK\x01\x02", content.index(b"PK\x01\x02") + 1)
        content[place + 8] |= flags
        file.write_bytes(content)
        return read_manifest(file)

    return read


def record(
    problem: str, spec: str, arrays: dict[str, Any] | None = None, name: str = "", **fields: Any
) -> Read:
    """Return a function that reads a record with changed arrays and fields."""

    def read(folder: Path) -> None:
        arguments = {"congestion": 2} if problem == "congestion-trees" else None
        original = load_record(path_of(shipped_folder(), problem, spec, arguments))
        witness = io.BytesIO()
        np.savez(witness, **{**original.witness, **(arrays or {})})
        digest = hashlib.sha256(witness.getvalue()).hexdigest()
        entry = {"file": name or "witness.npz", "sha256": digest}
        (folder / "witness.npz").write_bytes(witness.getvalue())
        file = folder / "record.json"
        file.write_text(json.dumps({**original.fields(), "witness": entry, **fields}))
        verify(load_record(file))

    return read


def shard(kind: ShardKind, result: Any = None, /, without: str = "", **values: Any) -> Read:
    """Return a function that changes a shard, corrects its checksum, and merges it.

    Args:
        kind: the kind of the shard.
        result: replaces every result; a mapping replaces only the given parts of each result.
        without: the name of a member to remove.
        values: the new values of members.
    """

    def read(folder: Path) -> object:
        content = content_of_shard(kind)
        content.pop(without, None)
        content |= values
        if result is not None:
            for number, old in content["results"].items():
                is_part = isinstance(result, dict)
                content["results"][number] = {**old, **result} if is_part else result
        file = folder / "shard.json"
        file.write_bytes(seal(content))
        return merge(kind, file)

    return read


class Raising:
    """A value that raises an error when it is converted to an array."""

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise RuntimeError("no array")


def construction(result: object = None, name: Any = "mine", **options: Any) -> Read:
    """Return a function that declares and uses a construction that returns the given result."""

    def read(_: Path) -> None:
        def trees(topology: object, root: int) -> object:  # noqa: ARG001
            return result

        starcast.construction(name, **{"source": "me", **options})(trees)
        forest("S3", "mine")

    return read


def algorithm(columns: object = None, collective: Any = "broadcast", **options: Any) -> Read:
    """Return a function that declares and uses an algorithm that returns the given columns."""

    def read(_: Path) -> None:
        def rows(topology: object, root: int, ports: str) -> object:  # noqa: ARG001
            return columns

        starcast.algorithm(collective, "mine", **{"source": "me", **options})(rows)
        schedule("S3", "broadcast", "mine")

    return read


def family(generators: object = None, spec: str = "X3", **options: Any) -> Read:
    """Return a function that declares and uses a family with the given generators."""

    def read(_: Path) -> None:
        def graph(n: int) -> object:  # noqa: ARG001
            return generators

        starcast.family("mine", **{"source": "me", "pattern": r"X(\d+)", **options})(graph)
        topology(spec)

    return read


def declared(value: object) -> Read:
    """Return a function that declares a value, which is not a function, as a construction."""
    return lambda _: starcast.construction("mine", source="me")(value)  # type: ignore[type-var]


def with_default(default: object) -> Read:
    """Return a function that declares a construction whose parameter has the given default."""

    def read(_: Path) -> None:
        def trees(topology: object, root: int, depth: object = default) -> None:
            """A construction with an empty body."""

        trees.__annotations__["depth"] = default
        starcast.construction("mine", source="me")(trees)

    return read


COLUMNS = {"step": [1], "sender": [0], "port": [2], "unit": [0]}


def forest_text(**parts: object) -> Read:
    """Return a function that opens a forest file with changed parts."""

    def read(folder: Path) -> object:
        file = folder / "forest.npz"
        forest("S3", "greedy").save(file)
        with np.load(file) as archive:
            contents = {**archive, **parts}
        np.savez(file, **contents)
        return Forest.open(file)

    return read


#: Functions that read an invalid input, and words of the error message, by the kind of input.
INVALID = {
    "an encrypted flag": (backup(flags=1), "compressed or encrypted"),
    "LZMA": (backup(method=zipfile.ZIP_LZMA), "compressed or encrypted"),
    "a version in words": (backup(postgres="eighteen"), "postgres of its manifest.json"),
    "no version": (backup(postgres=""), "postgres of its manifest.json"),
    "rows in words": (backup(tables={"run": {"rows": "many", "checksum": ""}}), "tables.run.rows"),
    "negative rows": (backup(tables={"run": {"rows": -1, "checksum": ""}}), "tables.run.rows"),
    "the year 1": (backup(created_at="0001-01-01T00:00:00Z"), "created_at"),
    "the year 9999": (backup(created_at="9999-12-31T23:59:59Z"), "created_at"),
    "no time zone": (backup(created_at="2026-01-01T00:00:00"), "created_at"),
    "not JSON": (backup(text="{"), "the text of its manifest.json"),
    "a list": (backup(text="[]"), "the text of its manifest.json"),
    "no congestion": (record("congestion-trees", "S3", arguments={}), "congestion"),
    "a list for the congestion": (
        record("congestion-trees", "S3", arguments={"congestion": [2]}),
        "congestion",
    ),
    "a name with NUL": (record("fault-diameter", "S3", name="a\0b"), "NUL"),
    "an unpaired surrogate": (record("fault-diameter", "S3", solver="\ud800"), "surrogates"),
    "a kind of another type": (shard("experiment", kind=[]), "kind"),
    "an unknown kind": (shard("experiment", kind="x"), "kind"),
    "no kind": (shard("experiment", without="kind"), "kind: Field required"),
    "tasks in words": (shard("experiment", tasks="1"), "tasks"),
    "a negative number of tasks": (shard("experiment", tasks=-1, results={}), "tasks"),
    "a list of results": (shard("experiment", results=[1]), "results"),
    "a long number": (shard("experiment", results={"9" * 5_000: []}), "unexpected result"),
    "a number as the shard": (shard("experiment", shard=1), "shard"),
    "a run as a number": (shard("experiment", [1]), "valid dictionary"),
    "a run without fields": (shard("experiment", [{}]), "Field required"),
    "no runs": (shard("experiment", []), "no runs"),
    "a grid in words": (shard("experiment", job={"name": "a", "grid": "S3"}), "grid: Input"),
    "a record as text": (shard("search", "record"), "the result of task 0"),
    "a witness that is not base64": (shard("search", {"witness": "*"}), "base64"),
    "an empty witness": (shard("search", {"witness": ""}), "cannot be read"),
    "a witness as a number": (shard("search", {"witness": 1}), "witness"),
    "searches without a list": (shard("search", job={}), "searches: Field required"),
    "a result without names": (shard("forest", [[0, 1], [], [], [], []]), "valid dictionary"),
    "blocks as text": (shard("forest", {"blocks": "01"}), "blocks"),
    "three ends of a range of blocks": (shard("forest", {"blocks": [0, 1, 2]}), "damaged"),
    "an argument named as a parameter": (
        shard("forest", job={"id": "S4:greedy(spec=S4):1234"}),
        "with the argument 'spec'",
    ),
    "the smallest n in words": (construction(smallest="a"), "option 'smallest'"),
    "families as a number": (construction(families=5), "option 'families'"),
    "families that are numbers": (construction(families=[1]), "option 'families'"),
    "a source that is missing": (construction(source=None), "option 'source'"),
    "a flag in words": (construction(partial="no"), "option 'partial'"),
    "a name that is a list": (construction(name=[]), "is not a valid name"),
    "a class instead of a function": (declared(int), "not a function"),
    "a text instead of a function": (declared("trees"), "not a function"),
    "a default that is a list": (with_default([]), "is not declared correctly as an int or a str"),
    "an array that raises": (construction(Raising()), "raised RuntimeError: no array"),
    "rows of different lengths": (construction([[1, 2], [3]]), "raised ValueError"),
    "a list that raises": (construction([Raising()]), "raised RuntimeError"),
    "columns that raise": (algorithm({**COLUMNS, "step": Raising()}), "cannot be read"),
    "a number of units that is text": (
        algorithm({**COLUMNS, "units": "x"}),
        "must be an integer, not 'x'",
    ),
    "a forest that is a number": (
        algorithm({**COLUMNS, "forest": 7}),
        "forest must be a Forest or None",
    ),
    "a collective that is a list": (algorithm(collective=[]), "option 'collective'"),
    "ports that are a number": (algorithm(ports=1), "option 'ports'"),
    "a pattern that is a number": (family(pattern=5), "option 'pattern'"),
    "a pattern group that is not a number": (
        family(pattern=r"X(\w+)", spec="Xx"),
        "is not a number",
    ),
    "a pattern group that is missing": (family(pattern=r"X(\d)?", spec="X"), "raised TypeError"),
    "a group that does not exist": (family(group="odd"), "of the family 'mine' is unknown"),
    "a group that is a number": (family(group=5), "option 'group'"),
    "sizes that are a list": (family(sizes=[3]), "option 'sizes'"),
    "a size that is out of range": (family(sizes=range(4, 6)), "mine graph X3 is out of range"),
    "an odd permutation": (family([[2, 1, 3]], group="even permutations"), "is not a generator"),
    "a symbol with both signs": (
        family([[-1, 2, 3], [1, -1, 2]], group="signed permutations"),
        "is not",
    ),
    "a step with too many coordinates": (family([[1, 0]], group="residues"), "is not a generator"),
    "a step that is 0 modulo the side": (family([[3]], group="residues"), "is not a generator"),
    "a side of one node": (family([[1]], "X1", group="residues"), "sides 1 are out of range"),
    "a symbol twice": (family([[2, 2, 3]]), "is not a generator"),
    "generators that raise": (family([[Raising()]]), "generators"),
    "a root that is text": (forest_text(root="0"), "damaged forest file"),
    "hubs that are dates": (forest_text(verify_hubs=np.array(["2026-01-01"], "M8[D]")), "dam"),
    "hubs that are complex": (forest_text(verify_hubs=np.array([1j])), "damaged"),
    "more segments than a float can count": (
        lambda _: schedule("S3", "broadcast", "multiple", segments=10**310),
        "segments is out of range",
    ),
}
#: Like `INVALID`, but for inputs that are refused with exit code 6 instead of 2.
REJECTED = {
    "empty paths": (record("fault-diameter", "S3", {"paths": np.zeros((2, 0), int)}), "paths"),
    "paths that are a number": (record("fault-diameter", "S3", {"paths": 3}), "paths"),
    "a missing tree": (shard("forest", {"exceptions": [[0, 9, 0]]}), "does not belong to"),
    "loads of fewer trees": (shard("forest", {"load": [1]}), "does not belong to"),
    "heights of fewer trees": (shard("forest", {"largest": [1]}), "does not belong to"),
}


@pytest.mark.whole
@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize("name", INVALID | REJECTED)
def test_an_invalid_input_is_refused_with_a_one_line_message(name: str, tmp_path: Path) -> None:
    read, words = (INVALID | REJECTED)[name]
    with refused(words, exit_code=6 if name in REJECTED else 2) as refusal:
        read(tmp_path)
    assert "\n" not in refusal.value.message


@pytest.mark.parametrize("kind", ["experiment", "search"])
def test_a_shard_that_was_not_changed_is_merged(kind: ShardKind, tmp_path: Path) -> None:
    assert content_of_shard(kind)["sources"] == source_digest()
    assert shard(kind)(tmp_path) is not None


def test_a_backup_that_was_not_changed_is_read(tmp_path: Path) -> None:
    manifest = backup()(tmp_path)
    assert manifest.rows == 3  # type: ignore[attr-defined]


@pytest.mark.usefixtures("registries")
def test_valid_plug_in_declarations_are_accepted(tmp_path: Path) -> None:
    trees = np.array(forest("S3", "greedy").parent_port)
    options = {"families": {"star"}, "smallest": np.int64(2), "partial": np.bool_(False)}
    construction(trees, **options)(tmp_path)
    plan = schedule("S3", "broadcast", "greedy")
    algorithm(plan, families=("star",), ports=["all"])(tmp_path)
    family([[2, 1, 3], [3, 2, 1]])(tmp_path)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda lab: lab.explore("S3", out="x.html", forest=None), "each item of `forest` must be"),
        (lambda lab: lab.explore("S3", out="x.html", schedule=5), "each item of `schedule`"),
        (lambda lab: lab.explore("S3", out=None), "None is not the name of a file"),
        (lambda lab: lab.build_forest("S3", "greedy", out=5), "5 is not the name of a file"),
        (lambda lab: lab.ingest("S3", trees=None), "each item of `trees` must be a construction"),
        (lambda lab: lab.ingest("S3", schedules=4), "each item of `schedules` must be"),
        (lambda lab: lab.ingest("S3", forest=0), "each item of `forest` must be a forest file"),
        (lambda lab: lab.compare("a", "b", across=5), "each item of `across` must be the name of"),
        (lambda lab: lab.compare("a", "b", conditions=[5]), "each item of `conditions` must be"),
        (lambda lab: lab.check_claims("TS.L5", sizes=5, store=False), "each item of `sizes` must"),
        (
            lambda _: starcast.connect(plugins=5),  # type: ignore[arg-type]
            "each item of `plugins` must be a module, file or folder",
        ),
        (
            lambda lab: lab.simulate_schedule("S3", "broadcast", "greedy", fault=1.5),
            "1.5 is neither a label nor a rank of S3",
        ),
        (
            lambda lab: lab.schedule_rows("S3", "broadcast", None),
            "unknown broadcast algorithm 'None'",
        ),
        (
            lambda lab: lab.draw_schedule("S3", "broadcast", "greedy", step=1.5),
            "each item of `step` must be the number of a step",
        ),
    ],
)  # fmt: skip
def test_arguments_of_lab_methods_that_have_a_wrong_type_are_refused(
    call: Callable[[Lab], Any], words: str
) -> None:
    with refused(words):
        call(Lab(Settings.load))


def test_drawn_steps_can_be_given_as_numpy_integers_and_arrays() -> None:
    lab = Lab(Settings.load)

    def draw(step: Any) -> str:
        return lab.draw_schedule("S3", "broadcast", "greedy", step=step).svg

    assert draw(np.int64(2)) == draw(2)
    assert draw(np.array([1, 2])) == draw([1, 2])
