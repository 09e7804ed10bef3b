"""Every way in which a command can end without a result: one line on stderr and an exit code.

    2    bad input, a missing extra, no memory or no room on the disk
    3    nothing can be concluded
    4    an error that divulge did not foresee: a defect, to be reported
    130  interrupted
    141  nobody reads the output any more

Exit code 1 is a finding (a claim refuted, a self-test that convicts), never a failure.
"""

from __future__ import annotations

import errno
import functools
import os
import select
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import typer

from divulge import __version__
from divulge.cli.quoting import safe
from divulge.errors import DivulgeError, MissingExtra, Note
from divulge.text.visible import one_line, visible

DEBUG = "--debug"
VARIABLE = "DIVULGE_DEBUG"
UNEXPECTED = 4
INTERRUPTED = 130
UNREAD = 141
_LONGEST = 500
_SOURCE = Path(__file__).parents[1]
_FULL = (errno.ENOSPC, errno.EDQUOT)

T = TypeVar("T")


class Ended(DivulgeError):
    """A command that could not go on; perhaps nothing is said."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def guarded(command: Callable[..., T]) -> Callable[..., T]:
    """The command, with whatever it may raise made a DivulgeError, a typer.Exit or an Ended."""

    @functools.wraps(command)
    def run(**given: Any) -> T:
        try:
            with notes():
                found = command(**given)
            sys.stdout.flush()
            return found
        except (DivulgeError, typer.Exit):
            raise
        except BaseException as error:
            raise ended(error, given) from error

    return run


@contextmanager
def notes() -> Iterator[None]:
    """Within, what the library only notes is a line on stderr, as an error is."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", Note)
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *further: Any) -> None:
            if issubclass(category, Note):
                print(f"divulge: {one_line(safe(str(message)))}", file=sys.stderr)
            else:
                others(message, category, *further)

        warnings.showwarning = show  # type: ignore[assignment]
        yield


def ended(error: BaseException, given: dict[str, Any] | None = None) -> Ended:
    """What is said of an error that is none of ours, and the exit code."""
    if isinstance(error, KeyboardInterrupt):
        return Ended(interrupted(given or {}), INTERRUPTED)
    left = isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError)
    if left or (isinstance(error, BrokenPipeError) and _unread(sys.stdout)):
        return Ended("", UNREAD)
    if isinstance(error, MemoryError):
        return Ended(
            "There is not enough memory for this. Give fewer rows or columns, or use a larger "
            "machine.",
            DivulgeError.exit_code,
        )
    if isinstance(error, OSError) and (error.filename is not None or error.errno in _FULL):
        where = "" if error.filename is None else f": {os.fsdecode(error.filename)}"
        return Ended(f"{error.strerror or error}{where}.", DivulgeError.exit_code)
    said = one_line(safe(f"{type(error).__name__}: {error}"))
    shown = said if len(said) <= _LONGEST else said[: _LONGEST - 1] + "…"
    return Ended(
        f"unexpected error: {shown} ({_place(error)}, divulge {__version__}). This is a defect of "
        f"divulge: please report this line, the command, and the traceback that {DEBUG} shows.",
        UNEXPECTED,
    )


def mistyped(error: BaseException) -> Ended | None:
    """A mistake on the command line, in the words of the parser; None if it is none."""
    said, context = getattr(error, "format_message", None), getattr(error, "ctx", None)
    if said is None or not isinstance(error, Exception):
        return None
    command = "divulge" if context is None else context.command_path
    return Ended(f"{str(said()).rstrip('.')}. See {command} --help.", DivulgeError.exit_code)


def interrupted(given: dict[str, Any]) -> str:
    """What is kept of a command that was interrupted, and how to go on."""
    cache = None if given.get("no_cache") else given.get("cache")
    if cache is not None and any(Path(cache).glob("*.piece")):
        return (
            f"interrupted. Finished pieces are cached in {cache}; the same command resumes from "
            "there. No output was half-written."
        )
    keep = " With --cache FOLDER finished pieces are cached." if "cache" in given else ""
    return f"interrupted. Nothing was cached: the same command starts from the beginning.{keep}"


def stop(error: BaseException, *, debug: bool) -> int:
    """Say on stderr why the command ended; its exit code."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()  # type: ignore[attr-defined]
        return DivulgeError.exit_code
    known = error if isinstance(error, DivulgeError) else mistyped(error) or ended(error)
    if debug and known.exit_code not in (INTERRUPTED, UNREAD):
        shown = visible(safe("".join(traceback.format_exception(error))))
        print(shown, file=sys.stderr, end="")
    if known.exit_code == UNREAD:
        _forget(sys.stdout)
    elif str(known):
        print(f"divulge: {one_line(safe(str(known)))}{_from_clone(known)}", file=sys.stderr)
    return known.exit_code


def _from_clone(error: BaseException) -> str:
    """How a missing extra is installed by whoever runs divulge from a clone of its repository."""
    if not isinstance(error, MissingExtra) or not (_SOURCE.parents[1] / "pyproject.toml").is_file():
        return ""
    return f" In a clone of the repository: pip install -e '.[{error.extra}]'"


def wanted(words: list[str]) -> tuple[list[str], bool]:
    """The words without ``--debug``, wherever it stands, and whether tracebacks are wanted."""
    rest = [word for word in words if word != DEBUG]
    return rest, len(rest) < len(words) or bool(os.environ.get(VARIABLE))


def _place(error: BaseException) -> str:
    """The last line of our own source that the error passed through."""
    own = [
        f"{Path(frame.filename).relative_to(_SOURCE).as_posix()}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(_SOURCE)
    ]
    return own[-1] if own else "outside divulge"


def _unread(stream: Any) -> bool:
    """Whether the reader of a pipe is gone."""
    try:
        looked = select.poll()
        looked.register(stream.fileno(), select.POLLOUT)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in looked.poll(0))
    except (AttributeError, OSError, ValueError):
        return False


def _forget(stream: Any) -> None:
    """Let what is still buffered go nowhere, so that Python does not complain at its end."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        pass
