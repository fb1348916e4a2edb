"""The Data Docs stand alone: no other host, no script, our stylesheet; and they are current."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from pipelines.checks import Moment
from pipelines.checks.docs import alone, bring_up_to_date
from pipelines.checks.site import KEPT, Site
from pipelines.checks.style import STYLE
from pipelines.lanes import lane_named
from pipelines.project.settings import Settings
from tests.support.lakes.on_disk import on_disk
from tests.support.lakes.sound_feed import sound, sound_settings, spoilt

pytestmark = pytest.mark.xdist_group("great-expectations")  # one process imports it for all

LOADS = {"href", "src", "srcset", "action", "data", "poster", "integrity"}


class Page(HTMLParser):
    """What a page would load or lead to, the classes it uses, and its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.leads, self.tags = path, list[str](), set[str]()
        self.style, self.text, self._inside = "", "", ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self._inside = tag
        self.leads += [value for name, value in attrs if name in LOADS and value]
        assert not [name for name, _ in attrs if name.startswith("on")], (tag, attrs)

    def handle_endtag(self, _: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "style":
            self.style += data
        else:
            self.text += f" {data}"


def checked(declared: Settings, *, again: bool = False) -> None:
    with Moment(declared, [lane_named(declared, "ticks")], again=again) as moment:
        list(moment.contracts(lane_named(declared, "ticks")))


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Site:
    """The pages of a lake in which every promise is broken."""
    folder = tmp_path_factory.mktemp("docs")
    spoilt().written(folder / "lake")
    declared = sound_settings(folder)
    checked(declared)
    return Site.of(declared)


def pages(site: Site) -> list[Page]:
    return [Page(path) for path in sorted(on_disk(site.root).rglob("*.html"))]


def test_no_page_names_another_host_or_runs_a_script(site):
    assert len(pages(site)) == 1 + 8 + 8  # the index; a suite and a run a table
    for page in pages(site):
        text = page.path.read_text(encoding="utf-8")
        assert not re.search(r"https?:|//[a-z0-9-]+\.[a-z]", text), page.path
        assert not page.tags & {"script", "link", "img", "iframe", "object", "embed"}, page.path
        assert not re.search(r"@import|url\((?!#)", page.style), page.path


def test_every_link_leads_to_a_page_of_the_site(site):
    for page in pages(site):
        for lead in page.leads:
            target, _, place = lead.partition("#")
            assert not target or (page.path.parent / target).resolve().is_file(), (page.path, lead)
            if not target and place:
                assert f"id={place}" in page.path.read_text().replace('"', ""), (page.path, lead)


def test_every_page_has_our_stylesheet_as_the_last_one(site):
    ours = STYLE.read_text(encoding="utf-8").strip()
    for page in pages(site):
        assert page.style.strip().endswith(ours), page.path


def test_what_was_broken_has_its_page_at_once_with_the_counts(site):
    (run,) = [run for run in site.runs() if run.table == "events"]
    text = " ".join(Page(on_disk(site.root / run.page)).text.split())
    assert "Status: Failed" in text
    assert "Unsuccessful Expectations 8" in text
    assert "-95000000" in text
    index = site.index.read_text()
    assert run.page in index
    assert run.suite in index


def test_what_passed_is_in_the_index_at_once_and_has_its_page_when_asked_for(tmp_path):
    sound().written(tmp_path / "lake")
    declared = sound_settings(tmp_path)
    site = Site.of(declared)
    checked(declared)
    assert not list(on_disk(site.root / "validations").rglob("*.html"))
    assert "8 of 8 runs have no page yet" in site.index.read_text()
    assert bring_up_to_date(declared) == site.index
    runs = list(site.runs())
    assert len(runs) == 8
    for run in runs:
        assert "Succeeded" in Page(on_disk(site.root / run.page)).text
        assert run.page in site.index.read_text()
    assert "Every run has its page" in site.index.read_text()


def test_pages_go_with_their_runs(tmp_path):
    spoilt().written(tmp_path / "lake")
    declared = sound_settings(tmp_path)
    site = Site.of(declared)
    for _ in range(KEPT + 1):
        with Moment(declared, [lane_named(declared, "ticks")], again=True) as moment:
            list(moment.contracts(lane_named(declared, "ticks"), names=["pending"]))
    runs = [site.root / run.page for run in site.runs()]
    assert sorted(on_disk(site.root / "validations").rglob("*.html")) == sorted(runs)
    assert len(runs) == KEPT


def test_an_address_in_the_data_is_shown_and_is_no_link():
    page = '<a href="https://a.example/x">Out</a><td>https://b.example/y</td><a href="#s">In</a>'
    assert alone(page) == 'Out<td>https://b.example/y</td><a href="#s">In</a>'
