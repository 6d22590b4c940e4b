"""Every table of a page can be saved as CSV, by one function that keeps spreadsheets from running a cell."""

from __future__ import annotations

import re
from pathlib import Path

from explorer.program_files import PACKAGE, component_folders


def source(folder: Path) -> str:
    return "\n".join(file.read_text("utf-8") for file in sorted(folder.glob("*.js")))


def test_every_component_with_a_table_saves_it_as_csv() -> None:
    tables = {name: source(PACKAGE / folder) for name, folder in component_folders().items()}
    tables = {name: text for name, text in tables.items() if re.search(r'node\("table"|editable_matrix', text)}
    assert {"block_diagram", "masks"} <= tables.keys()
    for name, text in tables.items():
        assert re.search(r"saveMenu\([^;]*\bcsv\b", text, re.DOTALL), name
    assert "csv: () => tableCsv(" in (PACKAGE / "static/components/table/view.js").read_text("utf-8")


def test_pages_draw_no_table_of_streamlit() -> None:
    """Streamlit's tables are saved by its own code, without protection from formulas."""
    for file in (*PACKAGE.rglob("*.py"), *(PACKAGE.parent / "pages").glob("*.py")):
        assert not re.search(r"\bst\.(dataframe|table|data_editor)\(", file.read_text("utf-8")), file


def test_every_function_that_writes_csv_uses_the_protected_one() -> None:
    writers = [file for file in PACKAGE.rglob("*.js") if "vendor" not in file.parts and file.name != "csv.js"]
    writers = [file for file in writers if re.search(r"function \w*Csv\(", file.read_text("utf-8"))]
    assert len(writers) > 10
    for file in writers:  # or a neighbour, to which it gives the cells
        assert re.search(r'import \{[^}]*\btoCsv\b[^}]*\} from "[./\w]*csv\.js"', source(file.parent)), file
