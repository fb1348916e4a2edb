"""A lake and a landing folder are declared as places: folders, or object stores."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fencepost.errors import Faults
from pipelines.cli.app import app
from pipelines.lake.layout import NOTE
from pipelines.places import Remote, is_remote, place_of
from pipelines.project.settings import Settings, understood

FEED = '[feeds.ticks]\naxes = ["price"]\nsource = "{source}"\n'


def settings(tmp_path: Path, path: str, source: str = "landing", **variables: str) -> Settings:
    text = f'[lake]\npath = "{path}"\n' + FEED.format(source=source)
    return understood(text, tmp_path / "fencepost.toml", environment=variables)


def test_a_store_is_declared_by_its_address(tmp_path: Path) -> None:
    found = settings(tmp_path, "s3a://bucket/a/lake/", "gs://other/landing")
    assert found.root == Remote("s3://bucket", "a/lake")
    assert found.feeds["ticks"].source == Remote("gs://other", "landing")
    beside = settings(tmp_path, "lake", f"file://{tmp_path}/in")
    assert (beside.root, beside.feeds["ticks"].source) == (tmp_path / "lake", tmp_path / "in")
    assert str(settings(tmp_path, "lake", FENCEPOST_LAKE="s3://b/x").root) == "s3://b/x"


@pytest.mark.parametrize(
    ("path", "source", "said"),
    [
        ("hdfs://name/lake", "in", "mount it"),
        ("ftp://x/lake", "in", "no store that is known here"),
        ("s3://bucket", "in", "whole bucket"),
        ("s3://bucket/la ke", "in", "cannot read"),
        ("s3://me:secret@bucket/lake", "in", "credentials come from the environment"),
        ("s3://bucket/lake", "s3://bucket/lake/in", "is the lake, or lies in it"),
        ("s3://bucket/in/lake", "s3://bucket/in", "lies in s3://bucket/in"),
    ],
)
def test_a_place_that_cannot_be_is_refused(tmp_path, path, source, said) -> None:
    with pytest.raises(Faults, match=said) as refused:
        settings(tmp_path, path, source)
    assert "secret@" not in str(refused.value)
    assert "me:secret" not in str(refused.value)


def test_init_makes_a_lake_on_a_store(moto_s3, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    uri = moto_s3.uri("demo/lake")
    made = CliRunner().invoke(app, ["init", "demo", "--lake", uri, "--json"])
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["lake"] == uri
    assert f'path = "{uri}"' in (tmp_path / "demo" / "fencepost.toml").read_text()
    root = place_of(uri, tmp_path)
    assert is_remote(root)
    assert (root / NOTE).exists()
    assert not (root / "_race").is_dir()
    again = CliRunner().invoke(app, ["init", "demo"])
    assert again.exit_code == 0, again.output
    assert f"exists     {uri}/" in again.stdout
