"""The code blocks of the README and of the documents run as they stand, from top to bottom."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_code_blocks_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(python|sh)\n(.*?)^```", document.read_text(), re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {"__name__": f"document_{document.stem}"}
    for number, (language, block) in enumerate(blocks):
        if language == "sh":
            run_commands(block)
            continue
        # A file of its own for each block: functions then have a text, as in a user's module.
        path = tmp_path / f"{document.stem}_{number}.py"
        path.write_text(block)
        exec(compile(block, str(path), "exec"), names)


def run_commands(block: str) -> None:
    """Run lines of a shell; each must end well, in a pipe too."""
    folder = Path(sys.executable).parent
    env = os.environ | {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "storage")]),
    }
    script = "set -euo pipefail\n" + block
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (block, done.stdout, done.stderr)
