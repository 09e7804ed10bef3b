"""One self-contained HTML file from a result: no network, no records, no statistics.

Everything that came with the data is untrusted text. Jinja escapes it (autoescape is on), charts
receive it as JSON with ``<`` escaped, and the page's Content-Security-Policy names the hash of the
one script it may run and forbids every request.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from divulge.data.writing import write_text
from divulge.errors import MissingExtra
from divulge.report import wording
from divulge.report.drawing import COLOURS
from divulge.report.meaning import meaning
from divulge.report.presentation import Presentation, presentation
from divulge.report.shapes import label, shape
from divulge.report.terminal import value_text
from divulge.result import Diagnostics, Result, plain
from divulge.result.shared import CurveRecord, RocRecord
from divulge.text import rounding


def require_charts() -> None:
    """MissingExtra unless what draws the charts is installed; ask before a long audit."""
    for package in ("altair", "vl_convert"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(package, "report")


def page(result: Result, claim: Mapping[str, Any] | None = None) -> str:
    """The whole report as one HTML document.

    ``claim`` is what was held against the result: ``text`` (the claim as given), ``status``
    ("refuted", "not refuted" or "not comparable"), ``sentence``, and perhaps ``curve`` with
    ``fpr``, ``tpr`` and ``label``, drawn beside the proven one.
    """
    require_charts()
    diagnostics = result.diagnostics
    if claim is not None and "curve" in claim:
        claimed = CurveRecord.from_json(plain(claim["curve"]), "the claimed curve")
        roc = replace(diagnostics.roc or RocRecord(), claimed=claimed)
        diagnostics = replace(diagnostics, roc=roc)
    shown = presentation(result.game)
    sections, specifications = _sections(diagnostics, shown)
    script = _script()
    return (
        environment()
        .get_template("page.html")
        .render(
            **_common(result),
            claim=claim,
            words=shown.words,
            question=shown.question,
            meaning=wording.MEANINGS.get(result.verdict.status, ""),
            about=about(result),
            measurements=shape(plain(result.measurements), shown.labels),
            trials=shape(plain(result.trials), shown.labels),
            posterior=shape(plain(result.posterior or {}), shown.labels),
            sections=sections,
            checks=_checks(diagnostics, shown, {section["key"] for section in sections}),
            assumptions=list(dict.fromkeys(a for b in result.bounds for a in b.assumptions)),
            provenance=_provenance(plain(result.provenance)),
            specifications=specifications,
            script=Markup(script),  # noqa: S704  (ours, without data; see _script)
            script_hash=_hash(script),
            style=Markup(_source("style.css")),  # noqa: S704  (a file of this package)
        )
    )


def write(
    result: Result, path: str | os.PathLike[str], claim: Mapping[str, Any] | None = None
) -> None:
    """Write the report, whole or not at all."""
    write_text(path, page(result, claim))


def fragment(result: Result) -> str:
    """Verdict and bounds without scripts or styles, for a notebook's cell."""
    return environment().get_template("fragment.html").render(**_common(result))


def about(result: Result) -> list[tuple[str, str]]:
    """What was audited, with what, and when: for the first screen."""
    known = plain(result.provenance)
    model, inputs = known.get("model") or {}, known.get("inputs") or []
    named = [str(one.get("name", "")) for one in inputs if isinstance(one, dict)]
    names = [name for name in named if name != model.get("name")]
    kept = result.trials
    groups = [
        f"{kept[key]:,} {word}"
        for key, word in (("members", "members"), ("nonmembers", "non-members"))
        if isinstance(kept.get(key), int)
    ]
    sha = str(model.get("sha256", model.get("fingerprint", "")))[:12]
    rows = (
        ("Model", " ".join(filter(None, (str(model.get("name", "")), sha and f"({sha})")))),
        ("Data", ", ".join(dict.fromkeys(filter(None, names)))),
        ("Trials", " and ".join(groups)),
        ("Date", str(known.get("date", ""))),
    )
    return [(name, value) for name, value in rows if value]


def _common(result: Result) -> dict[str, Any]:
    status = result.verdict.status
    shown = presentation(result.game)
    concluded = status not in ("cannot conclude", "computed")
    return {
        "title": f"{result.game[:1].upper()}{result.game[1:]} audit",
        "verdict": result.verdict,
        "status_class": wording.STATUS_CLASSES.get(status, "open"),
        "strength": ("robust" if result.verdict.robust else "fragile") if concluded else "",
        "bounds": [
            {
                "parameter": b.parameter,
                "delta": "" if b.delta is None else rounding.exact(b.delta),
                "value": value_text(b.value),
                "confidence": wording.percent(b.confidence),
                "method": b.method,
                "correction": b.correction,
                "theorem": b.theorem,
                "headline": b.headline,
                "standing": b.standing,
            }
            for b in sorted(result.bounds, key=lambda b: (not b.headline, b.parameter != "epsilon"))
        ],
        "plainly": meaning(result, shown.words, shown.advice).sentences,
        "standings": [
            (standing, told)
            for standing, told in wording.STANDINGS.items()
            if any(b.standing == standing for b in result.bounds)
        ],
    }


def _sections(
    diagnostics: Diagnostics, shown: Presentation
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What the template shows of each drawn section, and the charts' specifications."""
    out, specifications = [], []
    for section in shown.sections:
        value = getattr(diagnostics, section.key)
        panels = []
        for panel in section.panels if value is not None else ():
            drawing = panel.draw(diagnostics)
            if drawing is not None:
                specification = drawing.to_dict()
                specification.pop("$schema", None)
                name = f"chart-{panel.name}"
                specifications.append({"id": name, "spec": _themed(specification)})
                described = specification["description"]
                told = {"title": panel.title, "caption": panel.caption, "description": described}
                panels.append({"id": name, **told})
        if panels:
            facts, numbers = section.facts(value), section.numbers(value)
            out.append(
                {
                    "key": section.key,
                    "title": section.title,
                    "caption": section.caption,
                    "panels": panels,
                    "note": section.note(value),
                    "facts": shape(facts, shown.labels) if facts else None,
                    "numbers": shape(numbers, shown.labels) if numbers else None,
                    "names": section.names,
                }
            )
    return out, specifications


def drawings(result: Result) -> dict[str, Any]:
    """The charts that the report of this result draws, by name."""
    require_charts()
    diagnostics = result.diagnostics
    found = {
        panel.name: panel.draw(diagnostics)
        for section in presentation(result.game).sections
        if getattr(diagnostics, section.key) is not None
        for panel in section.panels
    }
    return {name: drawing for name, drawing in found.items() if drawing is not None}


def _checks(diagnostics: Diagnostics, shown: Presentation, drawn: set[str]) -> list[dict[str, Any]]:
    """The diagnostics without a chart, those we know first, each as a table."""
    held = diagnostics.to_json()
    out = []
    for key in dict.fromkeys([*shown.checks, *held]):
        found = shape(held.get(key, {}), shown.labels)
        if key not in drawn and not found.empty:
            title, caption = shown.checks.get(key, (label(key, shown.labels), ""))
            out.append({"title": title, "caption": caption, "shape": found})
    return out


def _provenance(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """The command apart, the rest as it comes."""
    command = provenance.get("command")
    if isinstance(command, list):
        command = " ".join(str(part) for part in command)
    rest = {k: v for k, v in provenance.items() if k != "command"}
    return {"command": "" if command is None else str(command), "rest": shape(rest)}


def _themed(value: Any) -> Any:
    """The specification with each colour as a CSS variable, so that the page's theme rules it."""
    names = {colour: f"var(--{role})" for role, colour in COLOURS.items()}

    def swap(part: Any) -> Any:
        if isinstance(part, dict):
            return {k: v if k in ("data", "datasets") else swap(v) for k, v in part.items()}
        if isinstance(part, list):
            return [swap(v) for v in part]
        return names.get(part, part) if isinstance(part, str) else part

    return swap(value)


@lru_cache(maxsize=1)
def _script() -> str:
    """Vega, Vega-Lite and Vega-Embed with the few lines that draw the charts."""
    import vl_convert

    libraries = vl_convert.javascript_bundle(
        "window.vegaEmbed = vegaEmbed;", vl_version=_vega_lite_version()
    )
    script = f"{libraries}\n{_source('charts.js')}"
    if "</script" in script.lower() or "<!--" in script:
        raise RuntimeError("The JavaScript libraries cannot stand inside a script element.")
    return script.replace("\r\n", "\n").replace("\r", "\n")


def _vega_lite_version() -> str:
    """The Vega-Lite that Altair writes for, as vl_convert names it (``6.4``), or its newest."""
    import altair
    import vl_convert

    wanted = ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    known = vl_convert.get_vegalite_versions()
    return wanted if wanted in known else known[-1]


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _source(name: str) -> str:
    templates = environment()
    loader = templates.loader
    assert loader is not None
    return loader.get_source(templates, name)[0]


def _finalize(value: Any) -> Any:
    """What an expression of a template prints; markup is ours and stays as it is."""
    return wording.visible(value) if type(value) is str else value


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Templates of this package, everything escaped."""
    return Environment(
        loader=PackageLoader("divulge.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
