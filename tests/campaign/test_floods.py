"""Each of the campaign's attacks on the web pages, once, on a server without stores."""

from pathlib import Path
from random import Random

import pytest
from sqlalchemy import URL

from campaign.floods import ATTACKS, attack
from campaign.servers import Servers
from starcast.stores import GraphAddress


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_pages_still_answer_during_an_attack(tmp_path: Path, name: str) -> None:
    nowhere = Servers(GraphAddress("bolt://127.0.0.1:1", "", ""), URL.create("x"), tmp_path)
    assert attack(nowhere, name, Random(14)) == []  # noqa: S311 - repeatable
