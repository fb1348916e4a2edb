"""What a run does for the catalogs that fencepost.toml names.

Law: a run that finds nothing changed reads one small file of the lake and no catalog. A catalog
that cannot be reached fails no run: what was evaluated is committed, and the run says what is not
up to date.
"""

from collections.abc import Collection, Iterator

from fencepost.errors import FencepostError
from pipelines.project.settings import Settings
from pipelines.serve.marts import refresh
from pipelines.serve.publish.publish import ENTRIES, Start, publish
from pipelines.serve.publish.record import Published, noted


def keep_up(settings: Settings, feeds: Collection[str], start: Start) -> Iterator[str]:
    """Publish where anything has changed; give a line for each target that is not up to date.

    feeds  of which anything was evaluated: their marts are refreshed where these stand for views
    """
    for target in settings.publish:
        if target.engine == "athena":
            continue
        try:
            entries = ENTRIES[target.engine](settings)
            if noted(settings, target) != Published.of(settings, entries):
                publish(settings, target, start)
            elif target.engine == "hive":
                for feed in feeds:
                    refresh(settings, feed)
        except FencepostError as why:
            yield f"{target} is not up to date: {why}"
