"""What this machine has: versions, extras, threads, memory, disk. Nothing is changed."""

from __future__ import annotations

import os
import platform
import re
import shutil
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from divulge import __version__

_PACKAGE = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
CORE = ("numpy", "scipy", "scikit-learn", "numba", "narwhals", "pyarrow")


@dataclass(frozen=True)
class Finding:
    """One line: what, what was found, and whether it will do."""

    what: str
    found: str
    fine: bool = True


def extras() -> dict[str, tuple[str, ...]]:
    """The extras of divulge and the packages that each needs, as the installed metadata say."""
    found: dict[str, list[str]] = {}
    for line in metadata.requires("divulge") or ():
        package, extra = _PACKAGE.match(line), _EXTRA.search(line)
        if package is not None and extra is not None and package[0].lower() != "divulge":
            found.setdefault(extra[1], []).append(package[0])
    return {extra: tuple(packages) for extra, packages in sorted(found.items())}


def version(package: str) -> str | None:
    """The installed version of a package, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def examine(folder: Path) -> tuple[Finding, ...]:
    """Everything that a report of a problem should tell."""
    free = shutil.disk_usage(folder).free / 2**30
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found = [
        Finding("divulge", __version__),
        Finding("Python", platform.python_version()),
        Finding("system", f"{platform.system()} {platform.machine()}"),
        Finding("cores", str(cores)),
        Finding("memory", f"{pages * size / 2**30:.1f} GiB"),
        Finding("free disk here", f"{free:.1f} GiB", free > 1.0),
        Finding("cache here", str(folder / ".divulge") if _cache(folder) else "none"),
    ]
    for package in CORE:
        have = version(package)
        found.append(Finding(package, have or "missing", have is not None))
    for extra, packages in extras().items():
        lacking = [p for p in packages if version(p) is None]
        said = "installed" if not lacking else f"missing {', '.join(lacking)}"
        found.append(Finding(f"extra {extra}", said))
    return tuple(found)


def _cache(folder: Path) -> bool:
    return (folder / ".divulge").is_dir()
