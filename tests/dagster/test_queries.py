"""The standing queries as an asset: what files say is registered, and what changed is told."""

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
