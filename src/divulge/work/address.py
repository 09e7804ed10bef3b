"""Is anybody at an address? Asked first, for a cluster's own client waits long and says little."""

from __future__ import annotations

import re
import socket

from divulge.errors import InputError

TIMEOUT = 10.0
"""Seconds to reach a cluster."""


def require_reachable(address: str, kind: str, example: str, timeout: float = TIMEOUT) -> None:
    """InputError unless something listens at ``[scheme://]host:port``."""
    parts = re.fullmatch(r"(?:[a-z]+://)?\[?([^/\]]+?)\]?:(\d+)", address)
    if parts is None:
        raise InputError(
            f"{address!r} is not the address of a {kind} cluster. It looks like {example}."
        )
    try:
        socket.create_connection((parts[1], int(parts[2])), timeout=timeout).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f"No {kind} cluster can be reached at {address}: {error}. Is it running, and is the "
            "port open?"
        ) from error
