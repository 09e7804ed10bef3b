"""A server that answers questions about a model in JSON, asked with care.

Nothing it sends is trusted: time, size and form are bounded, no redirect is followed, and what is
quoted of its words is short, free of control characters and free of the key. The key itself is read
from its environment variable for each request and kept nowhere.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import os
import reprlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, NoReturn
from urllib.parse import parse_qsl, quote, urlsplit

import numpy as np

from divulge.errors import InputError, require
from divulge.models.base import Answers
from divulge.models.transport import Place, Refused, Reply, TooLarge, Unreachable, exchange
from divulge.text.masking import without_queries

AGAIN = (408, 429, 500, 502, 503, 504)
"""Statuses after which the same request may succeed."""
MOST_BYTES = 64 << 20
"""Most bytes of a reply, whatever was asked."""
PER_VALUE = 16
"""A reply may hold one value per so many bytes that it may have: an empty list takes two bytes to
send and 64 to hold."""
MOST_SENT = 8 << 20
"""Most bytes of a request; more records are cut into several."""
SHOWN = 200
"""Characters quoted of what a server said."""
FRAGMENT = 6
"""A run of this many characters of the key is taken out of whatever is quoted."""
SHORTEST = 3
"""A value in the query string that is no longer than a digit or two is no secret."""


class Declined(InputError):
    """The server works, but not for this request: it said no, or left out what was asked for."""

    status: int | None = None


@dataclass(frozen=True)
class Limits:
    """How long and how often a server is asked for one answer."""

    timeout: float = 60.0
    """Seconds from connecting to the last byte of one reply."""
    patience: float = 300.0
    """Seconds for one answer, with every further try and every wait."""
    attempts: int = 6
    wait: float = 0.5
    """Seconds before the second try; doubled with each one."""
    longest_wait: float = 60.0
    """Most seconds between two tries, whatever the server asks for."""

    def __post_init__(self) -> None:
        for name in ("timeout", "patience", "wait", "longest_wait"):
            value = getattr(self, name)
            require(0.0 < value < float("inf"), f"{name} must be seconds above 0. Found {value!r}.")
        require(self.attempts >= 1, f"attempts must be at least 1. Found {self.attempts!r}.")

    def pause(self, attempt: int) -> float:
        """Seconds after a failed try: doubled each time, and drawn, so that clients spread out."""
        return float(self.wait * 2.0 ** (attempt - 1) * np.random.default_rng().uniform(0.5, 1.0))


class Pace:
    """At most ``rate`` requests a second, over all threads."""

    def __init__(self, rate: float | None = None) -> None:
        require(rate is None or rate > 0.0, f"rate must be above 0 a second. Found {rate!r}.")
        self._gap = 0.0 if rate is None else 1.0 / rate
        self._free = 0.0
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Return when it is this request's turn."""
        with self._lock:
            turn = max(time.monotonic(), self._free)
            self._free = turn + self._gap
        time.sleep(max(0.0, turn - time.monotonic()))


@dataclass(frozen=True, repr=False)
class Endpoint:
    """An address, the name of the variable that holds its key, and limits."""

    url: str
    """With its query string, which may hold a secret and is shown nowhere."""
    key_variable: str | None = None
    key_header: str = "Authorization"
    """``Authorization`` gets ``Bearer`` and the key, any other header the key alone."""
    limits: Limits = Limits()
    pace: Pace = field(default_factory=Pace, compare=False)
    allow_plain_key: bool = False

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            port = parts.port
        except ValueError:
            raise InputError("The URL of the endpoint is malformed.") from None
        if parts.username is not None or parts.password is not None or "@" in parts.netloc:
            raise InputError(
                "The URL of an endpoint must not hold a user name or password: it would end up in "
                "histories and logs. Put the key into an environment variable and name that one."
            )
        require(
            parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0,
            f"An endpoint is an http:// or https:// URL. Found {quoted(self.address)}.",
        )
        require(
            all("!" <= c <= "~" for c in self.url),
            "The URL of an endpoint must be plain ASCII without spaces: escape them with %.",
        )
        require(
            self.key_header.replace("-", "").isalnum() and self.key_header.isascii(),
            f"{quoted(self.key_header)} is not the name of a header.",
        )
        if self.key_variable is not None:
            self._key()
            require(
                parts.scheme == "https" or self.allow_plain_key or _loopback(parts.hostname or ""),
                f"{self.address} is not encrypted: anyone on the network path could read the "
                "key. Use https://, or say --with allow_plain_key=yes in a network you trust.",
            )

    def __repr__(self) -> str:
        return f"Endpoint({self.address!r}, key_variable={self.key_variable!r})"

    @property
    def address(self) -> str:
        """The URL as it may be shown: without query string."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")

    def get(self, path: str = "", *, most: int = 1 << 20) -> Any:
        """The JSON at a path below the address."""
        return self._json(path, self._reply("GET", path, None, most), most)

    def post(self, path: str, body: bytes, *, most: int = MOST_BYTES) -> Any:
        """The JSON that answers a JSON body, of at most ``most`` bytes."""
        return self._json(path, self._reply("POST", path, body, most), most)

    def fail(
        self, wrong: str, found: Any = None, then: str = "", kind: type[InputError] = InputError
    ) -> NoReturn:
        """Raise InputError: what is wrong, what came back, what to do."""
        seen = "" if found is None else f" Found {self._quoted(_brief(found))}."
        raise kind(f"{self.address} {wrong}.{seen}{' ' + then if then else ''}") from None

    def _reply(self, method: str, path: str, body: bytes | None, most: int) -> Reply:
        """Ask, and ask again where that may help; InputError in the end."""
        limits, most = self.limits, min(most, MOST_BYTES)
        parts = urlsplit(self.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        place = Place(parts.scheme, parts.hostname or "", port)
        target = (parts.path.rstrip("/") + path or "/") + (f"?{parts.query}" if parts.query else "")
        self.pace.wait()
        end = time.monotonic() + limits.patience
        attempt = 0
        while True:
            attempt += 1
            try:
                left = max(1e-3, min(limits.timeout, end - time.monotonic()))
                reply = exchange(
                    place, method, target, self._headers(body), body, seconds=left, most=most
                )
            except TooLarge as error:
                self.fail(
                    str(error),
                    then=(
                        "If that answer is valid, name the classes, so that more values are "
                        "expected (--with classes=...), or ask about fewer records at once "
                        "(--with batch=N)."
                    ),
                )
            except Refused as error:
                self.fail(str(error))
            except Unreachable as error:
                trouble, asked = str(error), None
            else:
                if reply.status not in AGAIN:
                    return self._accepted(path, reply)
                trouble, asked = f"answered {self._status(reply)}", reply.wait
            pause = min(limits.pause(attempt) if asked is None else asked, limits.longest_wait)
            if attempt == limits.attempts or time.monotonic() + pause >= end:
                self.fail(trouble + ("" if attempt == 1 else f" ({attempt} tries)"))
            time.sleep(pause)
            self.pace.wait()

    def _accepted(self, path: str, reply: Reply) -> Reply:
        if 200 <= reply.status < 300:
            return reply
        if 300 <= reply.status < 400:
            self.fail(
                "redirects, and redirects are not followed, so that neither key nor records go "
                "where you did not send them",
                reply.location,
                "Give the final address.",
            )
        hint = ""
        if reply.status in (401, 403):
            hint = (
                " It wants a key: put it into an environment variable and name that one "
                "(--with key_variable=NAME)."
                if self.key_variable is None
                else f" Is the key in the variable {self.key_variable} right?"
            )
        if reply.status == 404:
            hint = f" Is the address right? It was asked for {path or 'that page'}."
        if reply.status == 413:
            hint = " Ask for fewer records at once (--with batch=N)."
        error = Declined(f"{self.address} answered {self._status(reply)}.{hint}")
        error.status = reply.status
        raise error

    def _json(self, path: str, reply: Reply, most: int) -> Any:
        kind = reply.kind
        if kind and kind != "application/json" and not kind.endswith("+json"):
            self.fail(
                f"answered {path or 'a question'} with {self._quoted(kind)} instead of JSON",
                _text(reply.body),
            )
        if sum(map(reply.body.count, (b",", b"[", b"{"))) > min(most, MOST_BYTES) // PER_VALUE:
            self.fail("answered with more values than are expected", _text(reply.body))
        try:
            return json.loads(reply.body, parse_constant=_no_constant)
        except RecursionError:
            self.fail("answered with JSON that is nested too deeply", _text(reply.body))
        except ValueError as error:  # not JSON, not UTF-8, or numbers too long to read
            why = str(error) if isinstance(error, _NotANumber) else "not valid JSON"
            self.fail(f"answered with text that is {why}", _text(reply.body))

    def _status(self, reply: Reply) -> str:
        """A status with its usual name and the server's words."""
        try:
            name = f"{reply.status} {HTTPStatus(reply.status).phrase}"
        except ValueError:
            name = str(reply.status)
        words = self._quoted(_text(reply.body)) if reply.body else ""
        return f"{name}: {words}" if words else name

    def _headers(self, body: bytes | None) -> dict[str, str]:
        found = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if body is not None:
            found["Content-Type"] = "application/json"
        if self.key_variable is not None:
            bearer = "Bearer " if self.key_header.lower() == "authorization" else ""
            found[self.key_header] = bearer + self._key()
        return found

    def _key(self) -> str:
        """The key; InputError that names the variable only."""
        name = self.key_variable or ""
        require(
            name.isidentifier() and name.isascii(),
            "key_variable takes the name of an environment variable, never the key itself.",
        )
        key = os.environ.get(name, "").strip()
        require(bool(key), f"The environment variable {name} holds no key.")
        require(
            all("!" <= c <= "~" for c in key),
            f"The environment variable {name} holds characters that are not allowed in a key.",
        )
        return key

    def _quoted(self, text: str) -> str:
        key = os.environ.get(self.key_variable, "").strip() if self.key_variable else ""
        query = urlsplit(self.url).query
        values = [value for _, value in parse_qsl(query, keep_blank_values=True)]
        for secret in (key, query, *values):
            if len(secret) >= SHORTEST or secret == key:
                text = scrubbed(text, secret)
        return quoted(without_queries(text))


def scrubbed(text: str, key: str) -> str:
    """Text without the key, its usual encodings, or any run of characters from them."""
    if not key:
        return text
    size = min(FRAGMENT, len(key))
    forms = [key, quote(key, safe=""), key.encode().hex(), json.dumps(key)[1:-1]]
    forms += [base64.b64encode(b" " * k + key.encode()).decode()[4:] for k in range(3)]
    forms.append(base64.b64encode(key.encode()).decode())
    forms += [form[::-1] for form in forms]
    pieces = {form.lower()[i : i + size] for form in forms for i in range(len(form) - size + 1)}
    lowered = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    hidden = np.zeros(len(text), dtype=bool)
    for i in range(len(text) - size + 1):
        if lowered[i : i + size] in pieces:
            hidden[i : i + size] = True
    out = [
        c if not hidden[i] else ("" if i and hidden[i - 1] else "***") for i, c in enumerate(text)
    ]
    return "".join(out)


def quoted(text: str) -> str:
    """A stranger's text for one line of a message: short, printable, in quotes."""
    line = " ".join(text[: 4 * SHOWN].split())
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    return f"'{safe[:SHOWN]}...'" if len(safe) > SHOWN else f"'{safe}'"


def _brief(found: Any) -> str:
    """A value that came from JSON, shortened before it is spelled out."""
    if isinstance(found, str):
        return found[: 20 * SHOWN]
    short = reprlib.Repr()
    short.maxlevel, short.maxlist, short.maxdict, short.maxstring = 3, 4, 6, 60
    return short.repr(found)


def _text(body: bytes) -> str:
    return body[: 20 * SHOWN].decode("utf-8", errors="replace")


class _NotANumber(ValueError):
    """JSON with one of Python's additions to it."""


def _no_constant(name: str) -> NoReturn:
    raise _NotANumber(f"not JSON: it holds the number {name}")


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def spread(
    total: int, per_request: int, connections: int, ask: Callable[[slice], Answers]
) -> Answers:
    """Ask about slices of the records, several at a time; the answers in the records' order."""
    parts = [slice(i, min(i + per_request, total)) for i in range(0, total, per_request)]
    if len(parts) == 1 or connections == 1:
        return Answers.joined([ask(part) for part in parts])
    with ThreadPoolExecutor(min(connections, len(parts))) as threads:
        return Answers.joined(list(threads.map(ask, parts)))


def within(
    part: slice, encode: Callable[[slice], bytes], ask: Callable[[slice, bytes], Answers]
) -> Answers:
    """Ask about a slice, halved until its request is small enough to send."""
    body = encode(part)
    if len(body) <= MOST_SENT or part.stop - part.start == 1:
        return ask(part, body)
    middle = (part.start + part.stop) // 2
    halves = (slice(part.start, middle), slice(middle, part.stop))
    return Answers.joined([within(half, encode, ask) for half in halves])
