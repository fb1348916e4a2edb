"""Where the stylesheet of the checks' pages is: ours, given to Great Expectations as a plugin."""

from pathlib import Path

PLUGINS = Path(__file__).parent / "styles"
"""It takes custom_data_docs/styles/data_docs_custom_styles.css from such a folder."""

STYLE = PLUGINS / "custom_data_docs" / "styles" / "data_docs_custom_styles.css"
