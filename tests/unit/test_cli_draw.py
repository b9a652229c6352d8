"""The drawing commands and the command `starcast explore`, used without a server."""

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from support.fix_cli import Result, Starcast, refused

_BEGINS = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF"}


pytestmark = pytest.mark.usefixtures("alone")


@pytest.mark.parametrize("suffix", _BEGINS)
@pytest.mark.parametrize(
    ("words", "subject"),
    [
        ("topology draw S4 --layout torus", "S4"),
        ("forest draw S4 multiple --all", "all trees of S4:multiple:1234"),
        ("forest draw S4 multiple --load", "the load of S4:multiple:1234"),
        (
            "schedule draw S4 broadcast multiple --step 3",
            "S4:broadcast:multiple:all:segments=1:1234",
        ),
    ],
)
def test_a_drawing_has_the_format_of_its_file_suffix(
    starcast: Starcast, words: str, subject: str, suffix: str
) -> None:
    name = f"picture{suffix}"
    assert starcast(f"{words} --out {name}") == Result(0, "", f"drew {subject} to {name}\n")
    assert Path(name).read_bytes().startswith(_BEGINS[suffix])


def test_a_schedule_is_drawn_with_all_steps_with_one_step_or_as_an_animation(
    starcast: Starcast,
) -> None:
    words = "schedule draw S3 broadcast multiple --ports one"
    every = ET.fromstring(starcast(words).out)  # noqa: S314 - our own document
    captions = [text.text for text in every.iter() if str(text.text).startswith("step ")]
    assert len(captions) > 2
    third = starcast(f"{words} --step 3").out
    assert "step 3:" in third
    assert "step 2:" not in third
    animation = starcast(f"{words} --animate").out
    assert "@keyframes" in animation
    assert animation.count('class="step') == len(captions)


def data_of_page() -> dict[str, Any]:
    """Return the data in the explorer page ``page.html``."""
    text = Path("page.html").read_text(encoding="utf-8")
    (data,) = re.findall(r'<script id="starcast-data"[^>]*>(.*?)</script>', text, re.DOTALL)
    held: dict[str, Any] = json.loads(data)
    return held


def test_explore_writes_a_page_with_the_named_forests_and_schedules(starcast: Starcast) -> None:
    starcast("forest build S4 greedy --root 4321 --out mine.npz")
    result = starcast("explore S4 --forest multiple --forest mine.npz --schedule "
"'broadcast:multiple(segments=2)' --schedule scatter:one-port --schedule "
"broadcast:multiple:one --state step=2 --out page.html")  # fmt: skip
    assert result.code == 0
    held = data_of_page()
    assert list(held["forests"]) == ["S4:multiple:1234", "S4:greedy:4321"]
    names = [entry["name"] for entry in held["schedules"].values()]
    assert names == ["broadcast:multiple(segments=2)", "scatter:one-port", "broadcast:multiple:one"]
    assert held["state"] == "schedule=broadcast:multiple(segments=2)&step=2"


def test_labels_on_an_explorer_page_can_use_symbols_from_0(starcast: Starcast) -> None:
    assert starcast("explore S3 --labels 0 --out page.html").code == 0
    labels = base64.b64decode(data_of_page()["topologies"]["S3"]["labels"]["data"])
    assert zlib.decompress(labels).startswith(b"012 021 ")


@pytest.mark.slow
def test_an_explorer_page_with_too_many_rows_is_refused_and_not_written(starcast: Starcast) -> None:
    line = "explore S8 --schedule 'broadcast:multiple(segments=99)' --out page.html"
    assert "rows, but a page shows" in refused(starcast(line), 7)[0]
    assert not Path("page.html").exists()
