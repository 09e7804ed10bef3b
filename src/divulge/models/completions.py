"""Language models behind an OpenAI-compatible ``/v1/completions``: log-probabilities of a text.

A server is asked to echo the prompt with log-probabilities and to add nothing. Servers differ in
how they let themselves be asked, so a short text is tried first, in three ways: echo with no token
generated; echo with one generated and dropped, for servers that want one; and ``prompt_logprobs``,
vLLM's own parameter. A server that only gives log-probabilities of what it wrote itself, as chat
endpoints do, says nothing about a given text, and is told apart here, before the audit.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from divulge.data.tables import Frame
from divulge.errors import require
from divulge.models.base import Answers, Gives, Reads
from divulge.models.endpoint import Declined, Endpoint, spread, within
from divulge.types import Array

Way = Literal["echo", "echo and drop", "prompt_logprobs"]
WAYS: tuple[Way, ...] = ("echo", "echo and drop", "prompt_logprobs")
PER_REQUEST = 16
PROBE = "The sea was calm, and a small ship went slowly to the north."
PER_BYTE, PER_TEXT = 512, 1 << 16
"""Bytes of a reply expected at most per byte of a prompt, and per prompt."""
NEEDED = (
    "Attacks on a text need the log-probability of each of its tokens, so they cannot run here. "
    "vLLM gives them, and so does any server that honours echo and logprobs in /v1/completions."
)


@dataclass(frozen=True)
class Completions:
    """A language model that is asked for the log-probabilities of texts."""

    endpoint: Endpoint
    model: str = field(repr=False)
    """Its name on the server, which the server may have chosen."""
    way: Way = "echo"
    per_request: int = PER_REQUEST
    connections: int = 4
    reads: Reads = "text"
    gives: Gives = "tokens"
    classes: None = None

    @property
    def name(self) -> str:
        """Where it is."""
        return self.endpoint.address

    @property
    def batch(self) -> int:
        """As many texts as all connections take at once."""
        return self.per_request * self.connections

    def ask(self, records: Frame) -> Answers:
        """Log-probability of every token but the first, which has none."""
        texts = records[records.columns[0]].to_list()
        for i, text in enumerate(texts):
            require(
                isinstance(text, str) and bool(text),
                f"Column {records.columns[0]!r} must hold text to ask {self.name} about. Found "
                f"{type(text).__name__ if text != '' else 'an empty one'} in row {i} of "
                f"{len(texts)} asked about at once.",
            )
        size = 1 if self.way == "echo and drop" else self.per_request
        return spread(
            len(texts),
            size,
            self.connections,
            lambda part: within(
                part, lambda p: self._body(texts[p]), lambda p, body: self._ask(texts[p], body)
            ),
        )

    def _body(self, texts: Sequence[str]) -> bytes:
        asked: dict[str, Any] = {
            "model": self.model,
            "prompt": list(texts),
            "max_tokens": 0 if self.way == "echo" else 1,
            "temperature": 0,
        }
        if self.way == "prompt_logprobs":
            asked["prompt_logprobs"] = 0
        else:
            asked |= {"echo": True, "logprobs": 1}
        return json.dumps(asked).encode()

    def _ask(self, texts: Sequence[str], body: bytes) -> Answers:
        most = sum(PER_TEXT + PER_BYTE * len(t.encode("utf-8", "replace")) for t in texts)
        answer = self.endpoint.post("/completions", body, most=most)
        rows = [self._row(c, answer, len(texts)) for c in self._choices(answer, len(texts))]
        width = max(row.size for row in rows)
        tokens = [np.pad(r, (0, width - r.size), constant_values=np.nan) for r in rows]
        return Answers(tokens=np.asarray(tokens))

    def _choices(self, answer: Any, count: int) -> list[dict[str, Any]]:
        """One choice per text, in the order of the texts."""
        found = answer.get("choices") if isinstance(answer, dict) else None
        if not isinstance(found, list) or not all(isinstance(c, dict) for c in found):
            self.endpoint.fail("must answer with a list of choices", answer)
        places = [c.get("index", i) for i, c in enumerate(found)]
        if not all(type(p) is int for p in places) or sorted(places) != list(range(count)):
            self.endpoint.fail(f"must answer with one choice for each of {count} texts", places)
        return [c for _, c in sorted(zip(places, found, strict=True), key=lambda pair: pair[0])]

    def _row(self, choice: dict[str, Any], answer: dict[str, Any], count: int) -> Array:
        """The log-probabilities of one text, checked."""
        found = self._listed(choice)
        usage = answer.get("usage")
        read = usage.get("prompt_tokens") if isinstance(usage, dict) else None
        if self.way == "echo and drop":
            found = found[:read] if type(read) is int and read > 0 else found[:-1]
        if count == 1 and type(read) is int and len(found) != read:
            self.endpoint.fail(
                f"gave log-probabilities of {len(found)} tokens, but the text has {read}",
                then=NEEDED,
                kind=Declined,
            )
        if found and found[0] is None:
            found = found[1:]
        if not found or any(type(v) not in (int, float) for v in found):
            self.endpoint.fail(
                "must give a log-probability for every token of the text but the first, and at "
                "least one",
                found,
                NEEDED,
                Declined,
            )
        row = np.asarray(found, dtype=float)
        if not np.isfinite(row).all() or row.max() > 1e-3:
            self.endpoint.fail(
                "gave numbers that are not log-probabilities, which must be finite and at most 0",
                float(row[~np.isfinite(row) | (row > 1e-3)][0]),
            )
        return np.asarray(np.minimum(row, 0.0))

    def _listed(self, choice: dict[str, Any]) -> list[Any]:
        """The log-probabilities as the server listed them."""
        if self.way == "prompt_logprobs":
            found = choice.get("prompt_logprobs")
            if not isinstance(found, list):
                self.endpoint.fail("gave no prompt_logprobs", choice, NEEDED, Declined)
            return [_first(entry) for entry in found]
        logprobs = choice.get("logprobs")
        found = logprobs.get("token_logprobs") if isinstance(logprobs, dict) else None
        if not isinstance(found, list):
            self.endpoint.fail("gave no log-probabilities of the prompt", choice, NEEDED, Declined)
        return found


def _first(entry: Any) -> Any:
    """The text's own token comes first among vLLM's candidates for a place."""
    if not isinstance(entry, dict) or not entry:
        return None
    first = next(iter(entry.values()))
    return first.get("logprob") if isinstance(first, dict) else first


def open_completions(
    endpoint: Endpoint,
    *,
    name: str | None = None,
    batch: int | None = None,
    connections: int = 4,
) -> Completions:
    """The model of that name, or the only one that the server lists, asked in a way that works."""
    model = only_model(endpoint) if name is None else name
    trouble: list[Declined] = []
    for way in WAYS:
        found = Completions(endpoint, model, way, batch or PER_REQUEST, connections)
        try:
            found._ask([PROBE], found._body([PROBE]))
        except Declined as error:
            if error.status in (401, 403, 404):
                raise
            trouble.append(error)
        else:
            return found
    raise trouble[0]


def only_model(endpoint: Endpoint) -> str:
    """The name of the one model that a server has."""
    listed = endpoint.get("/models")
    data = listed.get("data") if isinstance(listed, dict) else None
    names = [m.get("id") for m in data if isinstance(m, dict)] if isinstance(data, list) else []
    if len(names) != 1 or not isinstance(names[0], str):
        endpoint.fail("lists no single model", names or listed, "Name the model to query.")
    return str(names[0])
