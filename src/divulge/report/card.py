"""A section on privacy for a model card, in Markdown."""

from __future__ import annotations

import re

from divulge.report.meaning import meaning
from divulge.report.presentation import presentation
from divulge.report.terminal import parameter_name, status, value_text
from divulge.result import Result, plain
from divulge.text import rounding
from divulge.text.visible import one_line

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#&!])")


def section(result: Result) -> str:
    """The section; words that came with the data are escaped."""
    shown = presentation(result.game)
    said = meaning(result, shown.words, shown.advice)
    lines = [
        f"## Privacy: {_plain(status(result).lower())}",
        "",
        _plain(result.verdict.sentence),
        "",
        *(f"- {_plain(reason)}" for reason in result.verdict.reasons),
    ]
    for sentence in said.sentences:
        lines += ["", _plain(sentence)]
    stated = sorted(result.headline(), key=lambda b: b.parameter != "epsilon")
    if stated:
        lines += ["", "| lower bound on | at least | confidence | standing |", "|---|---|---|---|"]
        lines += [
            f"| {_plain(parameter_name(b))} | {value_text(b.value)} | "
            f"{rounding.percent(b.confidence)} | {_plain(b.standing)} |"
            for b in stated
        ]
    assumed = dict.fromkeys(a for b in stated for a in b.assumptions)
    if assumed:
        lines += ["", "Assumed:", "", *(f"- {_plain(one)}" for one in assumed)]
    known = plain(result.provenance)
    model = known.get("model") or {}
    about = [f"{result.game} audit by divulge {(known.get('versions') or {}).get('divulge', '')}"]
    about += [f"{word} {model[key]}" for word, key in (("model", "name"), ("SHA-256", "sha256"))
              if model.get(key)]  # fmt: skip
    about += [str(known["date"])] if known.get("date") else []
    about += [f"seed {known['seed']}"] if "seed" in known else []
    lines += ["", _plain("; ".join(about).strip()) + "."]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", one_line(str(text)))
