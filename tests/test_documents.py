"""The code blocks of the README and of the documents run as they stand, from top to bottom."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_code_blocks_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", document.read_text(), re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {"__name__": f"document_{document.stem}"}
    for number, block in enumerate(blocks):
        # A file of its own for each block: functions then have a text, as in a user's module.
        path = tmp_path / f"{document.stem}_{number}.py"
        path.write_text(block)
        exec(compile(block, str(path), "exec"), names)
