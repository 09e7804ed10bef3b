"""One HTTP exchange, bounded in time and in bytes from the first packet to the last.

The standard library's client is used on purpose: it follows no redirect, reads no proxy settings,
unpacks nothing, and lets its socket be replaced. Timeouts of a usual client start anew with every
packet, so a server that sends one byte a second is never late; here every wait ends at the deadline
of the whole exchange, and every byte is counted, headers included.
"""

from __future__ import annotations

import http.client
import io
import math
import socket
import ssl
import time
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

BLOCK = 1 << 16
HEADERS = 1 << 16
"""Bytes allowed for the headers of a reply, beside its body."""


class Refused(Exception):
    """The server broke a rule of this client; to ask again would not help."""


class TooLarge(Refused):
    """More bytes came, or were announced, than are expected."""


class Unreachable(Exception):
    """There was no whole reply; to ask again may help."""


@dataclass(frozen=True)
class Reply:
    """What came back: untrusted bytes."""

    status: int
    kind: str
    """The media type, without its parameters."""
    body: bytes = field(repr=False)
    wait: float | None = None
    """Seconds to wait before asking again, where the server named them."""
    location: str = ""


@dataclass(frozen=True)
class Place:
    """Where a server listens."""

    scheme: str
    host: str
    port: int


def exchange(
    place: Place,
    method: str,
    target: str,
    headers: dict[str, str],
    body: bytes | None,
    *,
    seconds: float,
    most: int,
) -> Reply:
    """Send one request and read one whole reply of at most ``most`` bytes within ``seconds``."""
    clock = _Clock(time.monotonic() + seconds)
    try:
        with closing(_connect(place, clock)) as plain, closing(_secured(plain, place, clock)) as s:
            connection = http.client.HTTPConnection(place.host, place.port)
            connection.sock = _Timed(s, clock, most)
            connection.request(method, target, body, {**headers, "Connection": "close"})
            with connection.getresponse() as response:
                return _read(response, most)
    except TimeoutError:
        raise Unreachable(f"gave no complete answer within {seconds:.1f} seconds") from None
    except ssl.SSLCertVerificationError as error:
        raise Refused(f"has no trusted TLS certificate ({error.verify_message})") from None
    except socket.gaierror as error:
        kind = Unreachable if error.errno == socket.EAI_AGAIN else Refused
        raise kind("has a host name that cannot be resolved") from None
    except http.client.RemoteDisconnected:
        raise Unreachable("closed the connection without an answer") from None
    except OSError as error:
        words = error.strerror or type(error).__name__
        raise Unreachable(f"cannot be reached ({words})") from None
    except http.client.IncompleteRead:
        raise Unreachable("broke off in the middle of its answer") from None
    except (http.client.HTTPException, ValueError):
        raise Refused("does not answer with valid HTTP") from None


def _read(response: http.client.HTTPResponse, most: int) -> Reply:
    packing = response.headers.get("Content-Encoding", "identity").strip().lower()
    if packing not in ("", "identity"):
        raise Refused("sent a compressed answer, which was not asked for and is not unpacked")
    declared = response.length
    if declared is not None and declared > most:
        raise TooLarge(f"announced an answer of {declared} bytes; at most {most} are expected")
    body = bytearray()
    while block := response.read(BLOCK):
        body += block
        if len(body) > most:
            raise TooLarge(f"sent more than the {most} bytes that are expected at most")
    if declared is not None and len(body) < declared:
        raise Unreachable("broke off in the middle of its answer")
    return Reply(
        status=response.status,
        kind=response.headers.get_content_type() if "Content-Type" in response.headers else "",
        body=bytes(body),
        wait=_seconds(response.headers.get("Retry-After")),
        location=response.headers.get("Location", ""),
    )


def _seconds(text: str | None) -> float | None:
    """Retry-After as seconds: a number or a date."""
    if text is None:
        return None
    try:
        found = float(text)
    except ValueError:
        try:
            when = parsedate_to_datetime(text)
            when = when if when.tzinfo else when.replace(tzinfo=UTC)
            found = (when - datetime.now(UTC)).total_seconds()
        except (ValueError, OverflowError, TypeError, IndexError):  # no date, or none that exists
            return None
    return max(0.0, found) if math.isfinite(found) else None


def _connect(place: Place, clock: _Clock) -> socket.socket:
    """The first address that answers; all of them share the one deadline."""
    trouble: OSError = OSError("no address")
    for family, kind, protocol, _, address in socket.getaddrinfo(
        place.host, place.port, type=socket.SOCK_STREAM
    ):
        found = socket.socket(family, kind, protocol)
        try:
            found.settimeout(clock.left())
            found.connect(address)
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except TimeoutError:
            found.close()
            raise
        except OSError as error:
            found.close()
            trouble = error
        else:
            return found
    raise trouble


def _secured(plain: socket.socket, place: Place, clock: _Clock) -> socket.socket:
    if place.scheme != "https":
        return plain
    plain.settimeout(clock.left())
    return ssl.create_default_context().wrap_socket(plain, server_hostname=place.host)


@dataclass(frozen=True)
class _Clock:
    deadline: float

    def left(self) -> float:
        """Seconds that are left; TimeoutError if none are."""
        found = self.deadline - time.monotonic()
        if found <= 0.0:
            raise TimeoutError
        return found


class _Timed:
    """As much of a socket as http.client uses, with one deadline; its owner closes it."""

    def __init__(self, plain: socket.socket, clock: _Clock, most: int) -> None:
        self._plain, self._clock, self._most = plain, clock, most

    def sendall(self, data: Any) -> None:
        view = memoryview(data)
        while view:
            self._plain.settimeout(self._clock.left())
            view = view[self._plain.send(view) :]

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Counted(self._plain, self._clock, self._most + HEADERS), BLOCK)

    def close(self) -> None:
        pass


class _Counted(io.RawIOBase):
    """The bytes of a socket, until the deadline or one byte too many."""

    def __init__(self, plain: socket.socket, clock: _Clock, most: int) -> None:
        self._plain, self._clock, self._most, self._seen = plain, clock, most, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._plain.settimeout(self._clock.left())
        found = self._plain.recv_into(buffer)
        self._seen += found
        if self._seen > self._most:
            raise TooLarge(f"sent more than the {self._most - HEADERS} bytes expected at most")
        return found
