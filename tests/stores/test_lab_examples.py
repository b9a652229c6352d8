"""Examples in the docstrings of `Lab`."""

from pathlib import Path

import pytest

from starcast import connect
from support.docstring_examples import MODULES, contains, find_examples, run_examples

#: Examples that contain one of these need a file, array or stack that they do not create.
SKIPPED = ("parent_ports", "S6.json", "a.csv", "connect(")


@pytest.mark.usefixtures("servers")
def test_the_examples_of_the_lab_print_what_they_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One example stores a record, in the folder of the home."""
    monkeypatch.chdir(tmp_path)
    with connect(home=tmp_path / "home") as lab:
        lab.ingest("S5", trees=["multiple"])
        lab.ingest("S6")
        lab.check_claims("TS.L5", jobs=1)
        for name, algorithm in (("substar", "recursive-substar"), ("multiple", "multiple")):
            lab.experiment(name, topology="S5", algorithm=algorithm, message_bytes=[64, 4096])
        modules = [module for module in MODULES if module.startswith("starcast.lab.")]
        found = [each for module in modules for each in find_examples(module, lab=lab)]
        checked = [
            each for each in found if contains(each, "lab.") and not contains(each, *SKIPPED)
        ]
        assert len(checked) > 20
        report = "".join(map(run_examples, checked))
        assert not report, report
