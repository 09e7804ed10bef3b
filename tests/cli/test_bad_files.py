"""Every table that a command reads, in every form that is no table."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import small_inputs as small
from commands import run
from hostile import Case, csv, lay_out, parametrised, parquet, refused


def zipped(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("table.csv", content)
    return buffer.getvalue()


INPUTS = {
    "membership.csv": small.MEMBERSHIP_COMMAND,
    "members.csv": small.APART_COMMAND,
    "nonmembers.csv": small.APART_COMMAND,
    "attribute.csv": small.ATTRIBUTE_COMMAND,
    "counts.csv": small.RETRAINING_COMMAND,
    "records.csv": small.LEAKAGE_COMMAND,
    "reference.csv": small.LEAKAGE_COMMAND,
    "data.csv": ("canaries", "plan", "data.csv", *small.PLAN_COMMAND[3:]),
    "scores.csv": small.AUDIT_COMMAND,
    "asked.csv": tuple("asked.csv" if w == "membership.csv" else w for w in small.SCORE_COMMAND),
    "taught.csv": tuple("taught.csv" if w == "members.csv" else w for w in small.SYNTHETIC_COMMAND),
    "made.csv": tuple("made.csv" if w == "nonmembers.csv" else w for w in small.SYNTHETIC_COMMAND),
    "held.csv": (*small.ATTRIBUTE_COMMAND, "--heldout", "held.csv"),
    "heldout.csv": (*small.MEMBERSHIP_COMMAND, "--features", "x", "--heldout", "heldout.csv"),
}
"""Each table by its name, and a command that reads it."""
SOUND = {
    **small.FILES,
    "data.csv": small.FILES["records.csv"],
    "asked.csv": small.FILES["membership.csv"],
    "taught.csv": small.FILES["members.csv"],
    "made.csv": small.FILES["nonmembers.csv"],
    "held.csv": small.FILES["attribute.csv"],
    "heldout.csv": small.FILES["membership.csv"],
}


def with_latin_1(sound: bytes) -> bytes:
    """A column of words more, the fourth of them with an accent in Latin-1."""
    lines = sound.rstrip(b"\n").split(b"\n")
    words = [b",accents", *(b",plain" for _ in lines[1:])]
    words[3] = b",caf\xe9"
    return b"\n".join(a + b for a, b in zip(lines, words, strict=True)) + b"\n"


def table_of(sound: bytes) -> pa.Table:
    return pyarrow.csv.read_csv(io.BytesIO(sound))


def as_parquet(sound: bytes) -> bytes:
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(table_of(sound), buffer)
    return buffer.getvalue()


def bad_bytes(sound: bytes) -> Iterator[tuple[str, bytes, tuple[str, ...]]]:
    """Defects of a CSV file: a name, the bytes, words of the error."""
    lines = sound.rstrip(b"\n").split(b"\n")
    header = lines[0]
    yield "no byte", b"", ("Empty CSV",)
    yield "line breaks only", b"\n\n\n", ("Empty CSV",)
    yield "header only", header + b"\n", ("has no rows",)
    yield "gzip", gzip.compress(sound), ("gzip", "Unpack")
    yield "a workbook", zipped(sound), ("zip archive",)
    yield "Parquet", as_parquet(sound), ("is a Parquet file", ".parquet")
    yield "UTF-16", sound.decode().encode("utf-16"), ("UTF-16", "UTF-8")
    yield "Latin-1 in a cell", with_latin_1(sound), ("is not UTF-8", "line 4", "0xe9", "iconv")
    yield "Latin-1 in a name", sound.replace(header, header + b"\xe9", 1), ("UTF-8", "line 1")
    yield "a null byte", sound.replace(b"\n", b"\n\0", 1), ("null byte", "line 2")
    short = b"\n".join([*lines[:3], lines[3].rsplit(b",", 1)[0], *lines[4:]])
    yield "a short row", short, ("Row #4", "Expected")
    yield "a long row", b"\n".join([*lines[:3], lines[3] + b",1", *lines[4:]]), ("Row #4",)
    yield "an open quote", b"\n".join([lines[0], b'"' + lines[1], *lines[2:]]), ("Cannot read",)
    twice = header.split(b",")[0]
    double = b"\n".join(line + b"," + line.split(b",")[0] for line in lines)
    yield "a name twice", double, (f"two columns named '{twice.decode()}'", "Rename one")


def table_cases() -> Iterator[Case]:
    for table, command in INPUTS.items():
        for name, content, says in bad_bytes(SOUND[table]):
            yield Case(f"{table}, {name}", command, SOUND | {table: content}, (table, *says))
        if table != "data.csv":  # whose columns may have any names
            nameless = SOUND[table].split(b"\n", 1)[1]
            yield Case(f"{table}, no header", command, SOUND | {table: nameless})


@parametrised(table_cases(), one_in=3)
def test_a_table_that_is_none(case, tmp_path):
    refused(case, tmp_path)


def place_cases() -> Iterator[Case]:
    for table, command in INPUTS.items():
        others = {k: v for k, v in SOUND.items() if k != table}
        yield Case(f"no {table}", command, others, (f"There is no file {table}",))
        folder = others | {f"{table}/": b""}
        yield Case(f"{table} is a folder", command, folder, (table, "holds no Parquet file"))


@parametrised(place_cases())
def test_a_table_that_is_not_there(case, tmp_path):
    refused(case, tmp_path)


def renamed(name: str, command: tuple[str, ...] = small.MEMBERSHIP_COMMAND) -> tuple[str, ...]:
    return tuple(name if word == "membership.csv" else word for word in command)


WHOLE = as_parquet(SOUND["membership.csv"])
FORMS = {
    "table.parquet": [
        ("CSV", SOUND["membership.csv"], "Parquet magic bytes"),
        ("no byte", b"", "Parquet file size is 0 bytes"),
        ("magic alone", b"PAR1PAR1", "table.parquet"),
        ("cut in half", WHOLE[: len(WHOLE) // 2], "Parquet magic bytes"),
        ("head cut off", WHOLE[100:], "table.parquet"),
        ("footer overwritten", WHOLE[:-40] + b"\xff" * 32 + WHOLE[-8:], "table.parquet"),
        ("pages overwritten", WHOLE[:4] + b"\xff" * 400 + WHOLE[404:], "table.parquet"),
        ("length of 4 GB", WHOLE[:-8] + b"\xff\xff\xff\xff" + b"PAR1", "table.parquet"),
        ("no columns", parquet({}), ""),
        ("no rows", parquet(dict.fromkeys(["member", "loss"], pa.array([], pa.float64()))),
         "has no rows"),
    ],
    "table.json": [("JSON", b"[]", "neither Parquet nor CSV")],
    "table.csv.gz": [("gzip", gzip.compress(SOUND["membership.csv"]), "neither Parquet nor CSV")],
    "table.xlsx": [("a workbook", b"PK\x03\x04", "neither Parquet nor CSV")],
    "table": [("no ending", SOUND["membership.csv"], "neither Parquet nor CSV")],
    ".csv": [("a hidden name", SOUND["membership.csv"], "neither Parquet nor CSV")],
    "table.arrow": [("Arrow", b"ARROW1", "neither Parquet nor CSV")],
}  # fmt: skip


@parametrised(
    Case(f"{file} of {name}", renamed(file), {file: content}, (says,))
    for file, forms in FORMS.items()
    for name, content, says in forms
)
def test_a_table_of_another_form(case, tmp_path):
    refused(case, tmp_path)


@parametrised(
    Case(f"{name} of {file}", ("retraining", file), {file: content}, (says,))
    for file, forms in FORMS.items()
    for name, content, says in forms
    if name != "no columns"
)
def test_counts_of_another_form(case, tmp_path):
    refused(case, tmp_path)


def test_parts_of_a_folder_that_do_not_fit_together(tmp_path):
    files = {
        "parts/a.parquet": parquet({"member": [0, 1], "loss": [0.1, 0.2]}),
        "parts/b.parquet": parquet({"member": ["x", "y"], "loss": ["a", "b"]}),
    }
    refused(Case("types differ", ("membership", "parts"), files, ("parts",)), tmp_path)


def test_a_part_of_a_folder_that_is_damaged(tmp_path):
    files = {"parts/a.parquet": WHOLE, "parts/b.parquet": b"PAR1"}
    refused(Case("damaged", ("membership", "parts"), files, ("parts",)), tmp_path)


@pytest.mark.parametrize("name", ["a" * 300 + ".csv", "members.csv/table.csv", "loop.csv", ""])
def test_a_name_that_leads_nowhere(name, tmp_path):
    lay_out(small.FILES, tmp_path)
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    refused(Case("nowhere", ("membership", name), {}), tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    done = run("membership", "pipe.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert "Cannot read pipe.csv: it is a pipe" in done.stderr


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    def locked(self, *words, **more):
        raise PermissionError(13, "Permission denied", str(self))

    lay_out({"table.csv": csv(small.MEMBERSHIP)}, tmp_path)
    monkeypatch.setattr("pathlib.Path.open", locked)
    done = run("membership", "table.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert "Cannot read table.csv" in done.stderr
    assert "Permission denied" in done.stderr
    assert len(done.stderr.splitlines()) == 1
