"""The standing queries as an asset: what files say is registered, and what changed is told."""

import json

import dagster as dg
import pytest

from tests.dagster.project import RULES, Project

pytestmark = pytest.mark.dagster


def registered(project: Project) -> dict[str, object]:
    """Materialise the asset; give what it tells."""
    assert dg.materialize(
        [project.assets("queries")], instance=project.instance, resources={"lake": project.lake}
    ).success
    return project.latest("queries")


def test_what_the_files_say_stands_and_the_difference_is_told(project: Project) -> None:
    told = registered(project)
    assert (told["added"], told["unchanged"], told["dagster/row_count"]) == (0, 4, 4)
    rules = project.folder / "rules" / "bands.jsonl"
    rules.write_text(
        RULES.replace("price < 3", "price < 2")
        + '{"id": "high", "feed": "ticks", "where": "price >= 6"}\n'
    )
    told = registered(project)
    assert (told["added"], told["changed"], told["unchanged"]) == (1, 1, 3)
    assert told["dagster/row_count"] == 5


def test_what_no_file_names_stays(project: Project) -> None:
    (project.folder / "rules" / "bands.jsonl").unlink()
    (project.folder / "rules" / "other.jsonl").write_text(RULES.splitlines()[0] + "\n")
    assert registered(project)["dagster/row_count"] == 4


def test_a_file_with_a_fault_changes_nothing_and_the_fault_is_said(project: Project) -> None:
    before = registered(project)["registry version"]
    (project.folder / "rules" / "bands.jsonl").write_text('{"id": "a", "feed": "nowhere"}\n')
    with pytest.raises(dg.Failure) as failure:
        registered(project)
    assert "bands.jsonl" in str(failure.value.description)
    assert "nowhere" in str(failure.value.description)
    assert failure.value.allow_retries is False
    (project.folder / "rules" / "bands.jsonl").write_text(RULES)
    assert registered(project)["registry version"] == before


def test_what_a_query_is_called_stays_text(project: Project) -> None:
    text = '{"id": "<img src=x>|`*", "feed": "ticks", "where": "price = 1"}\n'
    (project.folder / "rules" / "odd.jsonl").write_text(text)
    told = registered(project)
    assert told["added"] == 1
    assert "<img" not in str(told)


def test_regions_are_counted_by_shape_and_drawn(project: Project) -> None:
    square = [[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]
    rules = (
        {"id": "yard", "region": {"type": "Polygon", "coordinates": [square]}},
        {"id": "tree", "region": {"circle": {"center": [6, 2], "radius": 1}}},
        {"id": "lane", "region": {"corridor": {"line": [[0, 6], [8, 6]], "width": 1}}},
    )
    lines = (json.dumps({"feed": "locations", **rule}) for rule in rules)
    (project.folder / "rules" / "zones.jsonl").write_text("\n".join(lines))
    told = registered(project)
    assert told["added"] == 3
    for shape in ("polygon", "circle", "corridor"):
        assert f"| locations | crossing | {shape} | 1 |" in str(told["standing"])
    drawn = str(told["regions of locations"])
    assert drawn.startswith("![locations: regions: ")
    assert "1 polygon, 1 circle, 1 corridor" in drawn
    assert "data:image/png;base64," in drawn
