"""Write the generated pages of docs/: `python -m pipelines.cli.handbook`."""

from pathlib import Path

from pipelines.cli.handbook import PAGES

if __name__ == "__main__":
    docs = Path(__file__).resolve().parents[3] / "docs"
    for name, written in PAGES.items():
        (docs / name).write_text(written(), encoding="utf-8")
