"""Fingerprints taken in other processes, on real files."""

from __future__ import annotations

import glob
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
# An interpreter without numpy can take fingerprints of what needs no numpy: the other rooms are left out.
_DRIVER = """
import importlib, json, sys, types
root = sys.argv[1]
sys.path[:0] = [root, root + "/storage"]
package = types.ModuleType("lazycache")
package.__path__ = [root + "/lazycache"]
package.__file__ = root + "/lazycache/__init__.py"
sys.modules["lazycache"] = package
try:
    import numpy
except ImportError:
    digests = types.ModuleType("lazycache.digests")
    digests.__path__ = []
    code = types.ModuleType("lazycache.digests.code")
    code.register_code = lambda encode: None
    sys.modules.update({"lazycache.digests": digests, "lazycache.digests.code": code})
from lazycache.errors import FingerprintError
from lazycache.fingerprint import fingerprint

def take(folder, expression, options):
    before = set(sys.modules)
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        job = importlib.import_module("job")
        taken = fingerprint(eval(expression, vars(job)), **options)
        assert taken.is_current()
        return taken.mismatch or taken.digest.hex()
    except FingerprintError as error:
        return "FingerprintError: " + str(error)
    finally:
        sys.path.remove(folder)
        for name in set(sys.modules) - before:
            if (getattr(sys.modules[name], "__file__", None) or "").startswith(folder):
                del sys.modules[name]

print(json.dumps([take(*request) for request in json.load(sys.stdin)]))
"""


def digests(
    requests: Sequence[tuple[str, str, Mapping[str, object]]], *, python: str = sys.executable, hash_seed: str = "0"
) -> list[str]:
    """Return the digest, the mismatch or the error of each (folder, expression in job.py, options)."""
    run = subprocess.run(
        [python, "-c", _DRIVER, str(ROOT)],
        input=json.dumps(requests),
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    found: list[str] = json.loads(run.stdout)
    return found


def other_pythons() -> list[str]:
    """Return interpreters of the supported versions that are installed side by side."""
    home = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    found = [path for minor in (11, 12, 13) for path in glob.glob(f"{home}/versions/3.{minor}.*/bin/python")]
    return sorted(found)
