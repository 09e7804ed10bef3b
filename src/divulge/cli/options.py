"""Options that several commands share, each defined once: name, type and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Trust = Annotated[
    list[str] | None,
    typer.Option(help="A type that a model file may load; repeatable. The error lists them."),
]
AllowPickle = Annotated[
    bool,
    typer.Option(
        "--allow-pickle",
        help="Load pickle or joblib files. They can run any code on this machine.",
    ),
]
LowerIsMember = Annotated[
    bool | None,
    typer.Option(
        "--lower-is-member/--higher-is-member",
        help="Direction of the score. Default: by name (a loss is lower for members).",
    ),
]
Delta = Annotated[list[float] | None, typer.Option(help="Repeatable. Default: 1e-5.")]
Error = Annotated[float, typer.Option(help="Error of all headline bounds together.")]

NJobs = Annotated[int, typer.Option("--n-jobs", help="Processes; -1: one per core.")]
Backend = Annotated[str, typer.Option(help="Who does long work: loky, dask, ray or serial.")]
Address = Annotated[
    str | None,
    typer.Option(help="Of a running Dask or Ray cluster. Default: one on this machine."),
]
Cache = Annotated[
    Path | None,
    typer.Option(help="Folder where finished stages are kept, so that a run can resume."),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Keep nothing.")]
CacheKey = Annotated[
    str | None,
    typer.Option(
        help="Names a model that has no content to name it by, such as a server's, in the cache: "
        "change it whenever the model changes."
    ),
]
CACHE = Path(".divulge")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Out = Annotated[Path | None, typer.Option(help="Write the result as JSON.")]
Report = Annotated[Path | None, typer.Option(help="Write the report as HTML.")]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite", help="Write over existing files that are not earlier results of this kind."
    ),
]
Claim = Annotated[
    str | None,
    typer.Option(help="A claim to draw in the report: mu=1 or epsilon=8,delta=1e-5."),
]
