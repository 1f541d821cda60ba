"""Where the default store is and how it behaves: environment, then pyproject.toml.

Environment variables: ``LAZYCACHE_DIR``, ``LAZYCACHE_MODE``,
``LAZYCACHE_MAX_SIZE``, ``LAZYCACHE_MAX_AGE``, ``LAZYCACHE_UNUSED_FOR``,
``LAZYCACHE_UPSTREAM``, ``LAZYCACHE_SIGNATURES``. The
table ``[tool.lazycache]`` of the nearest pyproject.toml above the working
folder has the same settings as ``dir``, ``mode``, ``max_size``, ``max_age``,
``unused_for``, ``upstream`` (a list) and ``signatures``; relative folders
start at that file's folder. The secret that signs results is in
``LAZYCACHE_SIGNING_KEY``, or in the file ``LAZYCACHE_SIGNING_KEY_FILE``, and
never in a project.
"""

import functools
import math
import numbers
import os
import re
from datetime import timedelta
from typing import Any, Literal, NamedTuple, get_args

from lazycache.errors import CacheFaultWarning, SettingError
from lazycache.telling import warn

Mode = Literal["rw", "ro", "refresh", "off"]
Signatures = Literal["off", "on", "strict"]
Age = float | str | timedelta

NAMES = ("dir", "mode", "max_size", "max_age", "unused_for", "upstream", "signatures")
"""What ``[tool.lazycache]`` may set."""

_SHORTEST_KEY = 16

_SIZE_UNITS = {
    "": 1,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "KI": 2**10,
    "MI": 2**20,
    "GI": 2**30,
    "TI": 2**40,
}
_AGE_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31557600.0}


class Setting(NamedTuple):
    """A value, where it came from, and the folder that relative paths in it start from."""

    value: Any
    source: str
    base: str = ""


class Limits(NamedTuple):
    """What bounds a store; None stands for no bound.

    Attributes
    ----------
    max_size : int or None
        Bytes.
    max_age, unused_for : float or None
        Seconds since an entry was made, or last used.
    """

    max_size: int | None = None
    max_age: float | None = None
    unused_for: float | None = None


def parse_size(text: str, setting: str = "size") -> int:
    """Return a number of bytes.

    Examples
    --------
    >>> parse_size("50GB"), parse_size("1.5 MiB"), parse_size("800")
    (50000000000, 1572864, 800)
    """
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]I?)?B?\s*", text.upper())
    wanted = float(match[1]) * _SIZE_UNITS[match[2] or ""] if match else math.inf
    if wanted == math.inf:
        raise SettingError(setting=setting, value=text, expected="a size such as 50GB, 500MiB or 1000000")
    return int(wanted)


def size(value: Any, setting: str = "size") -> int:
    """Return a number of bytes, given as a number or as a text.

    Examples
    --------
    >>> size(800), size("50GB")
    (800, 50000000000)
    """
    if isinstance(value, str):
        return parse_size(value, setting)
    if not 0 <= _number(value) < math.inf:
        raise SettingError(setting=setting, value=value, expected="a size such as '50GB', or bytes")
    return int(value)


def _number(value: Any) -> float:
    """Return what is a number as a float, infinity if it is too large for one, and NaN for all else."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if abs(value) == value else -math.inf


def age(value: Any, setting: str = "max_age") -> float:
    """Return an age in seconds, given as a number of seconds, a text or a timedelta.

    Examples
    --------
    >>> age(90), age("7d"), age(timedelta(hours=2))
    (90.0, 604800.0, 7200.0)
    """
    if isinstance(value, str):
        return parse_age(value, setting)
    if isinstance(value, timedelta):
        value = value.total_seconds()
    seconds = _number(value)
    if not seconds >= 0:
        raise SettingError(setting=setting, value=value, expected="an age such as '7d', or seconds")
    return seconds


def parse_age(text: str, setting: str = "age") -> float:
    """Return a number of seconds.

    Examples
    --------
    >>> parse_age("12h"), parse_age("90d"), parse_age("30")
    (43200.0, 7776000.0, 30.0)
    """
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*(s|min|h|d|w|y)?\s*", text.lower())
    if match is None:
        raise SettingError(setting=setting, value=text, expected="an age such as 90d, 12h, 30min or 45s")
    return float(match[1]) * _AGE_UNITS[match[2] or "s"]


def working_folder() -> str:
    """Return the working folder, or an empty text if that was removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def find_store_path() -> tuple[str, str]:
    """Return the folder of the default store, and which setting named it."""
    setting = find_setting("dir")
    if setting is not None:
        return os.path.abspath(os.path.expanduser(str(setting.value))), setting.source
    import platformdirs

    return platformdirs.user_cache_dir("lazycache", appauthor=False), "the user's cache folder"


def mode() -> Mode:
    """Return the mode of stores that were not given one.

    Raises
    ------
    SettingError
        If the setting is none of rw, ro, refresh, off.
    """
    setting = find_setting("mode")
    return "rw" if setting is None else check_mode(setting.value, setting.source)


def check_mode(value: Any, source: str = "mode") -> Mode:
    """Return `value` if it is a mode; raise SettingError otherwise."""
    if value not in get_args(Mode):
        raise SettingError(setting=source, value=value, expected="one of rw, ro, refresh, off")
    found: Mode = value
    return found


def upstream() -> tuple[str, ...]:
    """Return the folders of stores that are looked in after one's own."""
    setting = find_setting("upstream")
    if setting is None:
        return ()
    value = setting.value
    folders = value.split(os.pathsep) if isinstance(value, str) else value
    if not isinstance(folders, list) or not all(isinstance(folder, str) for folder in folders):
        raise SettingError(setting=setting.source, value=value, expected="a list of folders")
    return tuple([os.path.join(setting.base, os.path.expanduser(folder)) for folder in folders if folder])


def signatures(wanted: Any = None) -> tuple[Signatures, bytes]:
    """Return how records are signed, and the secret; `wanted` goes before the settings.

    Raises
    ------
    SettingError
        If signatures are on, and there is no secret, or it is no secret.
    """
    setting = find_setting("signatures") if wanted is None else Setting(wanted, "signatures")
    mode: Any = None if setting is None else setting.value
    if mode is not None and mode not in get_args(Signatures):
        raise SettingError(setting=setting.source if setting else "", value=mode, expected="one of off, on, strict")
    secret = b"" if mode == "off" else signing_key()
    if not secret and mode not in (None, "off"):
        raise SettingError(setting="LAZYCACHE_SIGNING_KEY", value="", expected=f"a secret, as signatures are {mode}")
    return mode or ("on" if secret else "off"), secret


def signing_key() -> bytes:
    """Return the secret that signs results, or nothing.

    Raises
    ------
    SettingError
        If it is too short, or in a file that cannot be read or that others may read.
    """
    setting, secret = "LAZYCACHE_SIGNING_KEY", os.environb.get(b"LAZYCACHE_SIGNING_KEY", b"")
    path = os.environ.get("LAZYCACHE_SIGNING_KEY_FILE")
    if not secret and path:
        setting = "LAZYCACHE_SIGNING_KEY_FILE"
        try:
            with open(path, "rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                secret = file.read().strip()
        except OSError as error:
            raise SettingError(setting=setting, value=path, expected=f"a file with a secret ({error})") from error
        if mode & 0o027:
            raise SettingError(
                setting=setting,
                value=path,
                expected=f"a file that others may not read, nor the group write: chmod 600 {path}",
            )
    if (secret or path) and len(secret) < _SHORTEST_KEY:
        raise SettingError(setting=setting, value="…", expected=f"a secret of at least {_SHORTEST_KEY} bytes")
    return secret


def limits() -> Limits:
    """Return the limits that the user has set."""
    size, *ages = [limit(name) for name in Limits._fields]
    return Limits(None if size is None else int(size), *ages)


def limit(name: str) -> float | None:
    """Return one of the limits that the user has set, in bytes or seconds."""
    setting = find_setting(name)
    if setting is None:
        return None
    parse = parse_size if name == "max_size" else parse_age
    return parse(str(setting.value), setting.source)


def find_setting(name: str) -> Setting | None:
    """Return a setting as it is written, and where; None if it is not."""
    variable = f"LAZYCACHE_{name.upper()}"
    value = os.environ.get(variable)
    if value:
        return Setting(value, variable)
    table, path = _project_table(working_folder())
    if name not in table:
        return None
    value, source = table[name], f"{name} in [tool.lazycache] of {path}"
    if name == "dir":
        if not isinstance(value, str) or not value:
            raise SettingError(setting=source, value=value, expected="a folder")
        value = os.path.join(os.path.dirname(path), os.path.expanduser(value))
    return Setting(value, source, os.path.dirname(path))


def _project_table(start: str) -> tuple[dict[str, Any], str]:
    folder = start
    while True:
        path = os.path.join(folder, "pyproject.toml")
        if os.path.isfile(path):
            status = os.stat(path)
            table = _read_table(path, status.st_mtime_ns, status.st_size)
            if table is not None:
                return table, path
        parent = os.path.dirname(folder)
        if parent == folder:
            return {}, ""
        folder = parent


@functools.lru_cache(maxsize=32)
def _read_table(path: str, _mtime_ns: int, _size: int) -> dict[str, Any] | None:
    """Return ``[tool.lazycache]`` of a pyproject.toml as it was at some time, or None if it has none."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        warn(f"{path} cannot be read ({error.strerror}): its settings are left out", CacheFaultWarning)
        return None
    if b"lazycache" not in data:
        # Most projects do not set anything, and a TOML parser takes milliseconds to import.
        return None
    import tomllib

    try:
        content = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        warn(f"{path} is not valid TOML ({error}): its settings are left out", CacheFaultWarning)
        return {}
    tools = content.get("tool")
    table = tools.get("lazycache") if isinstance(tools, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        warn(f"tool.lazycache in {path} is no table: it is left out", CacheFaultWarning)
        return {}
    unknown = sorted(table.keys() - set(NAMES))
    if unknown:
        # Another version may know it, so it is no error.
        warn(
            f"[tool.lazycache] in {path} sets {', '.join(map(repr, unknown))}, which is left out; "
            f"known are {', '.join(NAMES)}",
            CacheFaultWarning,
        )
    return table
