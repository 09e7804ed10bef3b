"""Options that several commands share, each defined once: name, type and help.

The help of every command shows its options in the same groups, which are also the order of the
arguments in Python: input, model, statistics, work, output.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

INPUT, MODEL, STATISTICS, WORK, OUTPUT = "Input", "Model", "Statistics", "Work", "Output"
PANELS = (INPUT, MODEL, STATISTICS, WORK, OUTPUT)


def data(*names: str, help: str, metavar: str | None = None) -> Any:
    """An option that names a table or a column."""
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=INPUT)


def model(*names: str, help: str, metavar: str | None = None) -> Any:
    """An option about models and attacks."""
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=MODEL)


def statistics(*names: str, help: str) -> Any:
    """An option about what is computed, and how it is drawn."""
    return typer.Option(*names, help=help, rich_help_panel=STATISTICS)


def work(*names: str, help: str) -> Any:
    """An option about who computes, and what is kept."""
    return typer.Option(*names, help=help, rich_help_panel=WORK)


def result(*names: str, help: str) -> Any:
    """An option about what is written."""
    return typer.Option(*names, help=help, rich_help_panel=OUTPUT)


Features = Annotated[str, data(help="Feature columns, comma-separated; patterns such as x_* too.")]
AlsoData = Annotated[Path | None, data("--data", help="The same table as an option.")]
Members = Annotated[Path | None, data(help="Table of members, together with --nonmembers.")]
Nonmembers = Annotated[Path | None, data(help="Table of non-members, together with --members.")]
Rename = Annotated[
    list[str] | None,
    data(
        "--map",
        metavar="OLD=NEW",
        help="Read a column under another name, such as true_label=label; repeatable.",
    ),
]
LowerIsMember = Annotated[
    bool | None,
    data(
        "--lower-is-member/--higher-is-member",
        help="Direction of the score. Default: by name (a loss is lower for members).",
    ),
]

Trust = Annotated[
    list[str] | None,
    model(help="A type that a model file may load; repeatable. The error lists them."),
]
AllowPickle = Annotated[
    bool,
    model(
        "--allow-pickle",
        help="Load pickle or joblib files. They can run any code on this machine.",
    ),
]

Delta = Annotated[
    list[float] | None, statistics(help="Delta of an epsilon; repeatable. Default: 1e-5.")
]
Headline = Annotated[
    str | None,
    statistics(
        help=(
            "Name one bound beforehand, and it gets the whole error: mu, epsilon, epsilon@1e-5; "
            "independent:mu or independent:epsilon@1e-5 assume independent scores. "
            "Default: all together."
        )
    ),
]
Error = Annotated[float, statistics(help="Error probability of all headline bounds together.")]
Seed = Annotated[int, statistics(help="Seed of every random choice: a whole number.")]

NJobs = Annotated[
    int,
    work(
        "--n-jobs",
        help="Number of processes; -1: one per core. Affects memory, never the result.",
    ),
]
N_JOBS = 1
"""One process unless more are asked for: every further one needs the memory of the first."""
Backend = Annotated[str, work(help="Execution backend of long work: loky, dask, ray or serial.")]
Address = Annotated[
    str | None, work(help="Address of a running Dask or Ray cluster. Default: a local one.")
]
Cache = Annotated[
    Path | None, work(help="Folder where finished stages are cached, so that a run can resume.")
]
NoCache = Annotated[bool, work("--no-cache", help="Cache nothing.")]
CacheKey = Annotated[
    str | None,
    work(
        help=(
            "Name in the cache for a model that cannot be hashed, such as a server's: change it "
            "whenever the model changes."
        )
    ),
]
CACHE = Path(".divulge")

AllBounds = Annotated[
    bool, result("--all-bounds", help="Print every bound, not only the headline ones.")
]
AsJson = Annotated[bool, result("--json", help="Print JSON and nothing else.")]
Out = Annotated[Path | None, result(help="Write the result as JSON.")]
Report = Annotated[Path | None, result(help="Write the report as HTML.")]
Mlflow = Annotated[
    bool,
    result("--mlflow", help="Log metrics, result and report to MLflow (MLFLOW_TRACKING_URI)."),
]
Overwrite = Annotated[
    bool,
    result(
        "--overwrite", help="Overwrite existing files that are not earlier results of this kind."
    ),
]
Claim = Annotated[
    str | None, result(help="A claim to draw in the report: mu=1 or epsilon=8,delta=1e-5.")
]


def renamed(given: list[str] | None) -> dict[str, str]:
    """What ``--map`` says."""
    from divulge.data.renaming import pairs

    return pairs(given or ())


def as_named(source: Path | None, given: list[str] | None) -> Any:
    """A table as it is read with ``--map``."""
    from divulge.data.views import TableView

    return TableView(source, renamed(given)) if source is not None and given else source


def numbers(option: str, text: str) -> float | list[float]:
    """One number for all columns, or one for each between commas."""
    from divulge.errors import InputError

    try:
        found = [float(word) for word in text.split(",")]
    except ValueError:
        raise InputError(f"{option} is a number, or one per column. Found {text!r}.") from None
    return found[0] if len(found) == 1 else found
