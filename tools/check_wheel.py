"""Build the wheel, install it into a bare environment, run the examples from another folder."""

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"lazycache", "lazycache_storage"}


def main() -> None:
    """Check that the wheel holds the two packages and that every example runs on it."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
        (wheel,) = folder.glob("*.whl")
        tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
        found = {top for top in tops if not top.endswith(".dist-info")}
        if found != PACKAGES:
            sys.exit(f"the wheel holds {sorted(found)}, expected {sorted(PACKAGES)}")
        venv.create(folder / "bare", with_pip=True)
        python = folder / "bare" / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
        run(python, "-c", "import lazycache; assert 'bare' in lazycache.__file__", cwd=folder)
        run(folder / "bare" / "bin" / "lazycache-gc", "--help", cwd=folder, stdout=subprocess.DEVNULL)
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *example_requirements())
        for example in examples():
            print(f"running {example.relative_to(ROOT)} on the wheel", flush=True)
            run(python, example, cwd=folder, env={**os.environ, "LAZYCACHE_DIR": str(folder / "store")})


def examples() -> list[Path]:
    """Return what is run of each example: its demo, else its one script."""
    found = []
    for folder in sorted(path for path in (ROOT / "examples").iterdir() if path.is_dir()):
        scripts = sorted(folder.glob("*.py"))
        if scripts:
            found.append(next((script for script in scripts if script.name == "demo.py"), scripts[0]))
    return found


def example_requirements() -> list[str]:
    """Return what the examples need beyond the wheel."""
    import tomllib

    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    requirements: list[str] = groups["demo"]
    return requirements


def run(*command: object, **options: object) -> None:
    """Run a command; a failure ends the check."""
    subprocess.run([str(part) for part in command], check=True, **options)  # type: ignore[call-overload]


if __name__ == "__main__":
    main()
