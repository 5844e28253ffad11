"""Addresses of files elsewhere: which text is one, and how it is shown without what must stay secret."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

__all__ = ["hides_something", "is_address", "name_of", "protocol_of", "without_secrets"]

_ADDRESS = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://")

# A user and a password; and the query, which is where signed addresses have their signature.
_USER = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@'\"]+@")
_QUERY = re.compile(r"(https?://[^\s'\"?]+)\?[^\s'\")\]>]+")
_HIDDEN = "?..."

# Options whose values are never shown, by words in their names. Shorter values would hit words of a message.
_SECRET = re.compile(r"key|secret|token|password|passwd|sas|credential|connection_string|auth", re.IGNORECASE)
_SHORTEST_SECRET = 6


def is_address(path: str) -> bool:
    """Return whether a path is that of a file elsewhere, such as ``s3://bucket/vectors.parquet``."""
    return _ADDRESS.match(path) is not None


def protocol_of(address: str) -> str:
    """Return what an address begins with, in lower case: ``s3``, ``https``."""
    found = _ADDRESS.match(address)
    return found[1].lower() if found else ""


def name_of(address: str) -> str:
    """Return the last name in an address, without a query."""
    path = address.partition("://")[2]
    if protocol_of(address) in ("http", "https"):
        path = path.partition("?")[0].partition("#")[0]
    return PurePosixPath(path).name


def without_secrets(text: str, options: Mapping[str, Any] | None = None) -> str:
    """Return a text without the users, passwords and queries of addresses in it, and the secrets among `options`."""
    text = _QUERY.sub(rf"\1{_HIDDEN}", _USER.sub(r"\1", text))
    # The longest first, since one may be a part of another.
    for secret in sorted(_secrets(options or {}), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def hides_something(shown: str) -> bool:
    """Return whether an address is one that `without_secrets` left incomplete, so that nothing can be opened by it."""
    return is_address(shown) and shown.endswith(_HIDDEN)


def _secrets(options: Mapping[str, Any], is_secret: bool = False) -> Iterator[str]:
    for name, value in options.items():
        hides = is_secret or _SECRET.search(str(name)) is not None
        if isinstance(value, Mapping):
            yield from _secrets(value, hides)
        elif hides and isinstance(value, str) and len(value) >= _SHORTEST_SECRET:
            yield value
