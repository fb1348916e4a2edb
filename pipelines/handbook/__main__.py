"""Write the pages that are written from the code: `python -m pipelines.handbook`."""

from pathlib import Path

from pipelines.handbook import PAGES

if __name__ == "__main__":
    docs = Path(__file__).resolve().parents[2] / "docs"
    for name, written in PAGES.items():
        (docs / name).write_text(written(), encoding="utf-8")
