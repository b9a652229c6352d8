"""Bombs: small files that claim to be, or decompress to, far more than a reader may use.

A command must refuse every bomb with a one-sentence error, using little memory and time. The files
are not written by starcast's own code.
"""

import gzip
import json
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

from campaign.forgeries import choose_record
from campaign.output import Outcome, find_problems
from campaign.servers import Servers
from campaign.watched import run_watched
from support.bombs import MB, npy_header, zip_of

#: Limits of resident memory and CPU time for a command that reads a bomb.
MAX_BYTES = 600_000_000
MAX_SECONDS = 30
_DEADLINE = 300
_PART = 10_000_000
#: Texts that a bomb repeats. If parsed as JSON, most bombs would take many times their length in
#: memory.
_TEXTS = (b" ", b"\n", b"[", b'{"a":', b'["a",0],', b"1", b'"', b"x")
_CLAIMED = 80_000_000_000_000


def _choose_text(draw: Random) -> tuple[bytes, int]:
    """Return a random text of 10 MB, and how often a bomb repeats it."""
    text = draw.choice(_TEXTS)
    return text * (_PART // len(text)), draw.randint(70, 150)


def write_experiment(folder: Path, draw: Random) -> tuple[str, ...]:
    """Write a compressed experiment; return the command that reads it."""
    part, count = _choose_text(draw)
    file = folder / "bomb.json.gz"
    # Concatenated gzip members are read as one file, so one compressed part can be repeated.
    file.write_bytes(gzip.compress(part, mtime=0) * count)
    return "experiment", "import", str(file)


def write_backup(folder: Path, draw: Random) -> tuple[str, ...]:
    """Write a backup with a large manifest; return the command that reads it."""
    part, count = _choose_text(draw)
    file = folder / "bomb.starcast"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("postgres.dump", b"PGDMP")
        with archive.open("manifest.json", "w", force_zip64=True) as member:
            for _ in range(count):
                member.write(part)
    return "restore", str(file)


def _choose_arrays(draw: Random) -> bytes:
    """Return an archive of arrays, one of which is large or claims to be large."""
    megabytes = draw.randint(700, 1_500)
    size = draw.choice((megabytes * MB, _CLAIMED))
    name = draw.choice(("parent_port", "topology", "side", "other"))
    zeros = megabytes if size < _CLAIMED else 10
    return zip_of({f"{name}.npy": (npy_header((size,), "|u1"), zeros)})


def write_forest(folder: Path, draw: Random) -> tuple[str, ...]:
    """Write a forest file with a large array; return the command that reads it."""
    file = folder / "bomb.npz"
    file.write_bytes(_choose_arrays(draw))
    return "forest", "verify", str(file)


def write_witness(folder: Path, draw: Random) -> tuple[str, ...]:
    """Write a record whose witness has a large array; return the command that reads it."""
    record = choose_record(folder, draw)
    record.witness = _choose_arrays(draw)
    return "records", "verify", str(record.write())


def write_record(folder: Path, draw: Random) -> tuple[str, ...]:
    """Write a record with a part that is too long or nested too deeply; return its command."""
    record = choose_record(folder, draw)
    part = draw.choice(sorted(record.fields))
    file = record.write()
    large = draw.choice(("[" * 10**6 + "]" * 10**6, '"' + "x" * 10**8 + '"', "9" * 10**6))
    text = json.dumps({**record.fields, part: "LARGE"}).replace('"LARGE"', large)
    file.write_text(text, encoding="utf-8")
    return "records", "verify", str(file)


BOMBS: dict[str, Callable[[Path, Random], tuple[str, ...]]] = {
    "experiment": write_experiment,
    "backup": write_backup,
    "forest": write_forest,
    "witness": write_witness,
    "record": write_record,
}


def bomb(servers: Servers, draw: Random) -> Outcome:
    """Let a command read a random bomb."""
    name = draw.choice(list(BOMBS))
    problems = explode(servers, name, draw)
    return f"a bomb as {name}", f"{name} refused", problems


def explode(servers: Servers, name: str, draw: Random) -> list[str]:
    """Let a command read a bomb of one kind, and return the problems."""
    with tempfile.TemporaryDirectory(prefix="bomb-", dir=servers.folder) as folder:
        words = BOMBS[name](Path(folder), draw)
        watched = run_watched(servers, words, _DEADLINE)
    problems = find_problems(watched.done)
    if watched.done.code == 0:
        problems.append("it was accepted")
    if watched.peak > MAX_BYTES:
        problems.append(f"it took {watched.peak:,} bytes")
    if watched.seconds > MAX_SECONDS:
        problems.append(f"it took {watched.seconds:.0f} s of processor time")
    return [f"{' '.join(words[:2])}: {problem}" for problem in problems]
