"""Where results go: every file is written through here, whole or not at all.

An output is never an input, never another output, and never takes the place of a device, a FIFO, a
link or a folder. ``reserve`` says so before the work starts, ``replacing`` once more when it is
written. Content goes to a temporary file beside its place first; one that a killed run left behind
is not locked by anybody, and is removed by the next run that writes to that folder.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from divulge.data.views import origin
from divulge.errors import InputError

try:
    import fcntl
except ImportError:  # no such locks on Windows, where an open file cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

TEMPORARY = ".divulge-tmp"
"""How the name of a temporary file ends; it begins with a dot and the name of its target."""

Named = str | os.PathLike[str]


@dataclass(frozen=True)
class Output:
    """A file to be written: the option that names it, its place, and what it may replace."""

    option: str
    path: Path | None
    replaces: Callable[[Path], bool] = lambda path: False
    """Whether an existing file is an earlier output of the same kind."""


def reserve(
    outputs: Iterable[Output], inputs: Iterable[Any] = (), *, overwrite: bool = False
) -> None:
    """InputError unless every output can be written and destroys nothing that was not meant."""
    wanted = [(o, o.path) for o in outputs if o.path is not None]
    taken: dict[Path, str] = {}
    given = _paths(inputs)
    for output, path in wanted:
        place = _place(path)
        if place in taken:
            raise InputError(
                f"{taken[place]} and {output.option} name the same file, {path}. Give two names."
            )
        taken[place] = output.option
        require_replaceable(path, output.option)
        _require_no_input(path, place, output.option, given)
        if not overwrite and path.exists() and path.stat().st_size and not output.replaces(path):
            raise InputError(
                f"{path} exists already, and is not an earlier result of this kind. Give "
                f"{output.option} another name, or --overwrite."
            )
    for output, path in wanted:
        _require_writable(path, output.option)


def require_replaceable(path: Path, what: str = "The output") -> None:
    """InputError if something stands there that is not a plain file."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot write {path}: {_said(error)}.") from error
    if not stat.S_ISREG(mode):
        kind = next((name for test, name in _KINDS if test(mode)), "not a plain file")
        raise InputError(f"{what} {path} is {kind}, which is never replaced. Give another name.")


_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def require_not_among(path: Named, inputs: Iterable[Any]) -> None:
    """InputError if an output is one of the inputs, or lies in a folder that is one."""
    given = _paths(inputs)
    _require_no_input(Path(path), _place(Path(path)), "The output", given)


def _paths(inputs: Iterable[Any]) -> list[Path]:
    """Those inputs, or what they are views of, that are files or folders."""
    named = [Path(i) for i in map(origin, inputs) if isinstance(i, str | os.PathLike)]
    return [path for path in named if _exists(path)]


def _require_no_input(path: Path, place: Path, option: str, inputs: Iterable[Path]) -> None:
    for source in inputs:
        real = source.resolve()
        same = place == real or (path.exists() and path.samefile(source))
        if same or (real.is_dir() and place.is_relative_to(real)):
            where = f"the input {source}" if same else f"in the folder {source}, which is an input"
            raise InputError(f"{option} {path} is {where}. Inputs are never written to.")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # no name that a file could have
        return False


def _place(path: Path) -> Path:
    """Where a file is or will be, with every link on the way there followed."""
    try:
        return path.parent.resolve() / path.name
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"Cannot write {path}: {_said(error)}.") from error


def _require_writable(path: Path, option: str) -> None:
    """Try it: permissions alone do not tell."""
    if not path.parent.is_dir():
        raise InputError(f"There is no folder {path.parent} for {option} {path}.")
    handle, name = _temporary(path)
    os.close(handle)
    Path(name).unlink(missing_ok=True)


def _temporary(target: Path) -> tuple[int, str]:
    """A new file beside the target, locked as long as it is open."""
    if not target.name:
        raise InputError(f"{target} is not the name of a file.")
    try:
        _sweep(target.parent.resolve())
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name[:80]}.", suffix=TEMPORARY
        )
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot write {target}: {_said(error)}.") from error
    if fcntl is not None:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return handle, name


@cache
def _sweep(folder: Path) -> None:
    """Remove what killed runs left behind: temporary files that nobody holds. Once per process."""
    if fcntl is None:
        return
    for path in folder.glob(f".*{TEMPORARY}"):
        with suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: in use
                path.unlink()
            finally:
                os.close(handle)


@contextmanager
def replacing(path: Named) -> Iterator[Path]:
    """Yield a temporary file beside ``path`` that takes its place unless something fails."""
    with replacing_all([path]) as places:
        yield places[0]


@contextmanager
def replacing_all(paths: Iterable[Named]) -> Iterator[list[Path]]:
    """Temporary files that take the places of all ``paths``, in order, unless something fails."""
    targets = [Path(p) for p in paths]
    with ExitStack() as stack:
        places = []
        for target in targets:
            require_replaceable(target)
            handle, name = _temporary(target)
            stack.callback(Path(name).unlink, missing_ok=True)
            stack.callback(os.close, handle)
            places.append(Path(name))
        yield places
        umask = os.umask(0)
        os.umask(umask)
        for place, target in zip(places, targets, strict=True):
            require_replaceable(target)
            try:
                os.chmod(place, 0o666 & ~umask)
                os.replace(place, target)
            except OSError as error:
                raise InputError(f"Cannot write {target}: {_said(error)}.") from error


def write_all(files: Mapping[Path, bytes]) -> None:
    """Write several files: all of them appear, whole, or none does."""
    with replacing_all(files) as places:
        for place, (target, content) in zip(places, files.items(), strict=True):
            try:
                place.write_bytes(content)
            except OSError as error:
                raise InputError(f"Cannot write {target}: {_said(error)}.") from error


def write_bytes(path: Named, data: bytes) -> None:
    """Write a file; InputError if the place is not writable, or the disk is full."""
    write_all({Path(path): data})


def write_text(path: Named, text: str) -> None:
    """Write a text file in UTF-8."""
    write_bytes(path, text.encode("utf-8"))


def _said(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
