"""``divulge run``: a command whose words stand in a TOML file, and that file from a result."""

from __future__ import annotations

import difflib
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from divulge.cli import options, output
from divulge.errors import InputError, require

EXAMPLE = (
    "divulge run audit.toml",
    "divulge run result.json --save again.toml",
)
COMMAND = "command"


def command(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A TOML file; or, with --save, a result as JSON.")],
    save: Annotated[
        Path | None,
        options.result(help="Write the command that made the result as such a file; run nothing."),
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Repeat an audit from a file: command = "membership", then its options by their names.

    Paths are those of the current folder. Exit code: that of the command.
    """
    from divulge.data.writing import Output, reserve, write_text

    root: Any = context.find_root().command
    if save is not None:
        text = described(made_by(file), root)
        reserve([Output("--save", save)], [file], overwrite=overwrite)
        write_text(save, text)
        output.say(f"Wrote {save}", err=True)
        return
    words = typed(read(file), str(file), root)
    require(words[0] != "run", f"{file} must not run another file.")
    output.say(f"divulge {shlex.join(words)}", err=True)
    root.main(args=words, prog_name="divulge", standalone_mode=False)


def read(file: Path) -> dict[str, Any]:
    """The file's entries; InputError that names the place of an error in it."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"There is no file {file}.") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"Cannot read {file} as TOML: {error}") from None


def typed(given: Mapping[str, Any], where: str, root: Any) -> list[str]:
    """The words of the command line that the entries stand for."""
    name = given.get(COMMAND)
    if not isinstance(name, str) or not name.split():
        raise InputError(f'{where} must say which command it is: command = "membership".')
    known = {p.name.rstrip("_"): p for p in _parameters(name.split(), where, root)}
    words, places = name.split(), []
    for key, value in given.items():
        if key == COMMAND:
            continue
        parameter = known.get(key.replace("-", "_"))
        if parameter is None:
            near = difflib.get_close_matches(key.replace("-", "_"), known, n=1)
            hint = f" Do you mean {near[0]!r}?" if near else ""
            raise InputError(f"{where}: divulge {name} has no option {key!r}.{hint}")
        if parameter.param_type_name == "argument":
            places.append((list(known).index(key.replace("-", "_")), _text(value, key, where)))
        else:
            words += list(_option(parameter, value, key, where))
    return [*words, *(text for _, text in sorted(places))]


def _option(parameter: Any, value: Any, key: str, where: str) -> Iterator[str]:
    if parameter.is_flag:
        require(isinstance(value, bool), f"{where}: {key} is true or false. Found {value!r}.")
        if value:
            yield parameter.opts[0]
        elif parameter.secondary_opts:
            yield parameter.secondary_opts[0]
        return
    several = value if isinstance(value, list) else [value]
    if parameter.multiple:
        for one in several:
            yield from (parameter.opts[-1], _text(one, key, where))
    else:
        yield from (parameter.opts[-1], ",".join(_text(one, key, where) for one in several))


def _text(value: Any, key: str, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"{where}: {key} must be text or a number. Found {value!r}.")
    return value if isinstance(value, str) else repr(value)


def _parameters(names: Sequence[str], where: str, root: Any) -> list[Any]:
    """What a command, or one within a group, can be told."""
    found = root
    for name in names:
        inner = getattr(found, "commands", {})
        if name not in inner:
            near = difflib.get_close_matches(name, inner, n=1)
            hint = f" Do you mean {near[0]!r}?" if near else ""
            raise InputError(f"{where}: divulge has no command {' '.join(names)!r}.{hint}")
        found = inner[name]
    require(not hasattr(found, "commands"), f"{where}: {' '.join(names)!r} is a group of commands.")
    return [p for p in found.params if p.name != "help"]


def made_by(result: Path) -> list[str]:
    """The command line that a result says it was made by."""
    from divulge.result import Result

    line = Result.load(result).provenance.get("command")
    if not isinstance(line, str) or not line.startswith("divulge "):
        raise InputError(f"{result} does not say by which command it was made: it was not by one.")
    return shlex.split(line)[1:]


def described(words: Sequence[str], root: Any) -> str:
    """A command line as TOML: the command, then its options by their names."""
    found, names, rest = root, [], list(words)
    while hasattr(found, "commands") and rest:
        require(rest[0] in found.commands, f"divulge has no command {rest[0]!r}.")
        names.append(rest[0])
        found, rest = found.commands[rest[0]], rest[1:]
    with found.make_context(" ".join(names), rest, resilient_parsing=False) as context:
        given = {
            p.name.rstrip("_"): context.params[p.name]
            for p in found.params
            if context.get_parameter_source(p.name).name == "COMMANDLINE"
        }
    lines = [f"{COMMAND} = {_toml(' '.join(names))}"]
    return "\n".join([*lines, *(f"{key} = {_toml(value)}" for key, value in given.items())]) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
