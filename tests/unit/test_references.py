"""references.bib and CITATION.cff agree, and every entry is complete."""

import re
from pathlib import Path

import starcast.topologies  # noqa: F401 - declares the families
from starcast.catalogue.entries import FAMILIES

ROOT = Path(__file__).parents[2]
PAPERS = {"tseng1997", "sheu1993", "fragopoulou1993", "fragopoulou1996", "li2007"}
VENUES = {"journal", "booktitle", "institution", "publisher"}


def entries() -> list[tuple[str, dict[str, str]]]:
    """Return the key and the fields of every entry in references.bib."""
    text = (ROOT / "references.bib").read_text(encoding="utf-8")
    found = []
    for key, body in re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        fields = re.findall(r"^  (\w+) *= (?:\{(.*)\}|(\w+)),$", body, re.MULTILINE)
        found.append((key, {name: braced or bare for name, braced, bare in fields}))
    return found


def test_every_bibliography_entry_is_complete_and_has_an_author_year_key() -> None:
    keys = [key for key, _ in entries()]
    assert len(keys) == len(set(keys))
    assert set(keys) >= PAPERS
    for key, fields in entries():
        assert fields.keys() >= {"author", "title", "year"}, key
        assert fields.keys() & VENUES, key
        family = fields["author"].split(" and ")[0].split()[-1]
        name = re.sub(r"\\.|[{}-]", "", family).lower()
        assert key == name + fields["year"]


def test_the_cited_source_of_each_topology_family_is_in_the_bibliography() -> None:
    keys = {key for key, _ in entries()}
    for family in FAMILIES.values():
        first, *_, year = re.split(r", | & | et al\. | (?=\d{4}$)", family.source)
        if year.isdigit():
            assert first.replace("-", "").lower() + year in keys, family.source


def test_the_citation_file_lists_the_five_papers_on_which_starcast_is_based() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for key, fields in entries():
        if key not in PAPERS:
            continue
        assert fields["title"].replace("$", "") in citation
        assert f"year: {fields['year']}" in citation
        assert f"doi: {fields.get('doi', '')}" in citation
