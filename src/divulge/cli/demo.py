"""``divulge demo``: a real audit of a small model under a real shift, in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import options, output

EXAMPLE = (
    "divulge demo --out result.json",
    "divulge demo --seed 1 --report demo.html",
)


def command(
    seed: options.Seed = 0,
    out: options.Out = None,
    report: Annotated[Path, options.result(help="The HTML report to write.")] = Path("report.html"),
    overwrite: options.Overwrite = False,
) -> None:
    """Train a small model on one part of a real survey and audit it with another part."""
    from divulge.demo import run
    from divulge.report import progress

    output.check((output.result_file(out), output.page(report)), (), overwrite=overwrite)
    with progress.stages() as advance:
        shown = run(seed=seed, progress=advance)
    typer.echo(shown.story)
    output.deliver(shown.result, as_json=False, out=out, report=report)
    output.say(f"Open {report} in a browser: {shown.look_at}")
