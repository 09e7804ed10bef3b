"""How is a CSV file written? Delimiter and decimal sign, told from its head; and what is no CSV.

The text is UTF-8, with or without a byte-order mark. Cells are parted by the sign that is most
frequent in the header: comma, semicolon or tab. Where that is not the comma, numbers may be written
with one (``0,5``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from divulge.errors import InputError

HEAD = 1 << 16
"""Bytes that are looked at."""
DELIMITERS = (",", ";", "\t")
_PACKED = {
    b"\x1f\x8b": "compressed with gzip",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ": "compressed with xz",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"PK\x03\x04": "a zip archive, as workbooks are",
}
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_WITH_POINT = re.compile(r"[-+]?\d*\.\d+\Z")
_WITH_COMMA = re.compile(r"[-+]?\d*,\d+\Z")


@dataclass(frozen=True)
class Dialect:
    """What parts the cells, and what stands before the decimals."""

    delimiter: str = ","
    decimal: str = "."


def of_file(path: Path) -> Dialect:
    """The dialect of a CSV file; InputError where its first bytes are not those of a text."""
    with path.open("rb") as stream:
        head = stream.read(HEAD)
    for magic, what in _PACKED.items():
        if head.startswith(magic):
            raise InputError(f"{path} is {what}, not CSV. Unpack it first.")
    if head.startswith(b"PAR1"):
        raise InputError(f"{path} is a Parquet file by its content. Give it a name in .parquet.")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path} is written in UTF-16. Save it as UTF-8.")
    if (at := head.find(b"\0")) >= 0:
        line = head[:at].count(b"\n") + 1
        raise InputError(f"{path} has a null byte in line {line} (byte {at}): it is not text.")
    if path.suffix.lower() == ".tsv":
        return Dialect("\t", _decimal(_lines(head), "\t"))
    lines = _lines(head)
    counts = {sign: lines[0].count(sign) if lines else 0 for sign in DELIMITERS}
    delimiter = max(DELIMITERS, key=lambda sign: counts[sign])  # the first where they are equal
    return Dialect(delimiter, _decimal(lines, delimiter))


def _lines(head: bytes) -> list[str]:
    """The lines of the head, without what is quoted."""
    return _QUOTED.sub('""', head.decode("utf-8", errors="replace")).splitlines()


def _decimal(lines: list[str], delimiter: str) -> str:
    if delimiter == ",":
        return "."
    cells = [cell.strip() for line in lines[1:] for cell in line.split(delimiter)]
    comma = any(_WITH_COMMA.match(cell) for cell in cells)
    return "," if comma and not any(_WITH_POINT.match(cell) for cell in cells) else "."


def not_utf8(path: Path) -> InputError | None:
    """The error that says where a file stops being UTF-8; None if it is UTF-8 throughout."""
    before, line = 0, 1
    with path.open("rb") as stream:
        for text in stream:
            try:
                text.decode("utf-8")
            except UnicodeDecodeError as error:
                return InputError(
                    f"{path} is not UTF-8: byte {before + error.start}, in line {line}, is "
                    f"0x{text[error.start]:02x}. If it is Latin-1, save it as UTF-8: "
                    "iconv -f latin1 -t utf-8 FILE."
                )
            before, line = before + len(text), line + 1
    return None


def trouble(path: Path, error: Exception) -> InputError:
    """What a reader's error means, in one line, without the record that it quotes."""
    text = " ".join(str(error).split())
    if isinstance(error, UnicodeDecodeError) or "UTF8" in text:
        found = not_utf8(path) if path.is_file() else None
        if found is not None:
            return found
    said = text.rsplit("Invalid: ", 1)[-1]
    said = re.sub(
        r"contained multiple columns named (.*)", r"has two columns named '\1'. Rename one", said
    )
    said = re.sub(r"(Expected \d+ columns, got \d+): .*", r"\1", said)
    return InputError(f"Cannot read {path}: {said.rstrip('.')}.")


def require_text(path: Path, schema: Any) -> None:
    """InputError if a column holds bytes: a reader's way to say that they are not UTF-8."""
    import pyarrow as pa

    if any(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) for kind in schema.types):
        raise not_utf8(path) or InputError(f"Cannot read {path}: a column is not text.")
