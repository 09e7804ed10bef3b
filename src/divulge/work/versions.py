"""Which code is this? Versions of what computes a result, and a digest of divulge's own source.

A checkout is edited without its version changing, so the digest is what tells two codes apart.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path

from divulge import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def versions() -> dict[str, str]:
    """What computes: Python, divulge, and the packages whose numbers it uses."""
    return {
        "python": platform.python_version(),
        "divulge": __version__,
        **{name: metadata.version(name) for name in PACKAGES},
    }


@cache
def source(folder: Path = Path(__file__).parents[1]) -> str:
    """The SHA-256 of every Python file of the package, by name and content."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return digest.hexdigest()


def code() -> dict[str, str]:
    """The versions and the source: where all of it is the same, results are."""
    return {**versions(), "divulge source": source()[:16]}


@cache
def fingerprint() -> str:
    """``code()`` as one short text."""
    return hashlib.sha256(json.dumps(code(), sort_keys=True).encode()).hexdigest()[:24]


def made() -> str:
    """The day, what computed, and on what kind of machine: for records that outlive a run."""
    today = datetime.now(UTC).date().isoformat()
    known = ", ".join(f"{name} {version}" for name, version in versions().items())
    return f"{today} | {known} | {platform.machine()}, {os.cpu_count()} cores"
