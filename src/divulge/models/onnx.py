"""ONNX classifiers through onnxruntime, on the CPU and without operators of anybody's own.

The file is opened in a process of its own first (``rehearsal``), and tensors that it keeps in other
files must lie in its own folder. A graph may loop or grow with its input, so that every run has a
deadline and all of them together a share of the memory. One input takes all features, as a matrix
or in the shape that it declares; several inputs take the columns of their names.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.data import budgets, tables
from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.models import layout
from divulge.models.base import BATCH, Answers, Gives, Reads
from divulge.models.outputs import Outputs, log_probabilities
from divulge.models.rehearsal import library, made_up, rehearse
from divulge.work.threads import number_for_network

TYPES: dict[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_,
    "tensor(string)": object,
}
FLOATS = ("tensor(float)", "tensor(double)", "tensor(float16)")
_BYTES = 4
"""What one weight takes up in a file."""


FEW = 64
"""Records asked about first, and in a rehearsal."""
SECONDS, SLOWER = 60.0, 100.0
"""A run may take so long, and so many times as long per record as the slowest before it."""
WIDTHS = (1, 3, 16, 256)
"""Sizes tried where none is declared."""
FULL = "Available memory of"
"""What the runtime says when its allocator has given out all it may."""


class Exceeded(InputError):
    """The graph asks for more time or memory than it may have."""


@dataclass(frozen=True)
class Onnx:
    """A session and the output that is read."""

    session: Any = field(repr=False)
    name: str
    output: str
    outputs: Outputs = "probabilities"
    classes: tuple[Any, ...] | None = None
    reads: Reads = "features"
    gives: Gives = "probabilities"
    batch: int = BATCH

    def ask(self, records: Frame) -> Answers:
        """Log-probabilities of the records."""
        inputs = self.session.get_inputs()
        if len(inputs) > 1:
            tables.require_columns(records, [i.name for i in inputs], "the table of features")
            feeds = {i.name: self._array(records.select(i.name), i) for i in inputs}
        else:
            feeds = {inputs[0].name: self._array(records, inputs[0])}
        found = self._run(feeds, len(records))
        return Answers(log_probabilities=log_probabilities(found, self.outputs, self.name))

    def _array(self, records: Frame, given: Any) -> npt.NDArray[Any]:
        """The columns as the array that an input declares."""
        kind = TYPES[given.type]
        shape = [s if isinstance(s, int) else None for s in given.shape[1:]]
        if kind is object:
            rows = np.array([[str(v) for v in records[c].to_list()] for c in records.columns]).T
            return rows.astype(object).reshape(len(records), *([-1] if shape else []))
        return layout.shaped(records, shape, f"Input {given.name!r} of {self.name}", kind)

    def _run(self, feeds: dict[str, npt.NDArray[Any]], rows: int) -> Any:
        """The output for all rows; in parts where the model reads a fixed number at once."""
        fixed = self.session.get_inputs()[0].shape[:1]
        step = fixed[0] if fixed and isinstance(fixed[0], int) and fixed[0] > 0 else None
        first = min(rows, FEW)
        blocks: list[Any] = [slice(0, first), *([slice(first, rows)] if rows > first else [])]
        if step is not None:
            blocks = list(layout.blocks(rows, step, step))
        parts: list[Any] = []
        slowest = 0.0
        for index in blocks:
            some = {k: v[index] for k, v in feeds.items()}
            size = len(next(iter(some.values())))
            started = time.monotonic()
            parts.append(self._values(self._within(some, SECONDS + SLOWER * slowest * size)))
            slowest = max(slowest, (time.monotonic() - started) / size)
        return np.concatenate(parts)[:rows]

    def _within(self, feeds: dict[str, npt.NDArray[Any]], seconds: float) -> Any:
        """The output of one run, which is stopped between two of its steps if it takes longer."""
        how = library("onnxruntime", "onnx").RunOptions()
        limit = budgets.raised(seconds)
        alarm = threading.Timer(limit, setattr, (how, "terminate", True))
        alarm.daemon = True
        alarm.start()
        try:
            (found,) = self.session.run([self.output], feeds, how)
        except Exception as error:  # the runtime has a type of its own for every failure
            if how.terminate:
                raise Exceeded(
                    f"{self.name} did not finish within {limit} seconds. {budgets.HINT}"
                ) from error
            if FULL in str(error):
                raise Exceeded(
                    f"{self.name} needs more than half of the memory. {budgets.HINT}"
                ) from error
            raise InputError(f"{self.name} cannot be queried: {_first(error)}") from error
        finally:
            alarm.cancel()
        return found

    def _values(self, found: Any) -> Any:
        """A matrix, also of what ZipMap makes: one mapping from class to probability per row."""
        if isinstance(found, list):
            keys = self.classes or tuple(found[0])
            found = [[row[k] for k in keys] for row in found]
        return np.asarray(found, dtype=float)

    def try_out(self) -> None:
        """Ask about made-up records; where a size is not declared, of several sizes."""
        inputs = self.session.get_inputs()
        known = all(isinstance(s, int) for i in inputs for s in i.shape[1:])
        sure = known and all(i.type in FLOATS for i in inputs)
        for width in WIDTHS[:1] if known else WIDTHS:
            feeds = {i.name: _made_up(i, width) for i in inputs}
            try:
                self._run(feeds, FEW)
            except Exceeded:
                raise
            except InputError:  # sizes and values that were guessed need not suit a sound model
                if sure:
                    raise


def load(place: Path, *, outputs: Outputs = "probabilities") -> Onnx:
    """A classifier from a .onnx file; InputError that says what is wrong."""
    library("onnxruntime", "onnx")
    _graph(place)
    rehearse(__name__, place)
    return open_file(place, outputs=outputs)


def open_file(place: Path, *, outputs: Outputs = "probabilities") -> Onnx:
    """A classifier from a file that is known not to crash the runtime."""
    runtime = library("onnxruntime", "onnx")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = number_for_network(place.stat().st_size // _BYTES)
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    _bound_memory(runtime)
    options.add_session_config_entry("session.use_env_allocators", "1")
    try:
        session = runtime.InferenceSession(str(place), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime has a type of its own for every failure
        raise InputError(f"Cannot load {place}: {_first(error)}") from error
    strange = [f"{i.name} ({i.type})" for i in session.get_inputs() if i.type not in TYPES]
    require(not strange, f"Cannot load {place}: it has inputs of other types: {strange}.")
    output = _chosen(session, place)
    return Onnx(session, place.name, output, outputs, _classes(_graph(place), output))


@cache
def _bound_memory(runtime: Any) -> None:
    """One allocator for all sessions of this process, with half of the machine's memory."""
    most = {"max_mem": budgets.raised(budgets.half_of_memory()), "arena_extend_strategy": 1}
    place = runtime.OrtMemoryInfo(
        "Cpu", runtime.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, runtime.OrtMemType.DEFAULT
    )
    runtime.create_and_register_allocator(place, runtime.OrtArenaCfg(most))


def _made_up(given: Any, width: int) -> npt.NDArray[Any]:
    """Records for one input; a size that it does not declare is ``width``."""
    shape = [s if isinstance(s, int) and s > 0 else width for s in given.shape[1:]]
    kind = TYPES[given.type]
    if kind is object:
        return np.full((FEW, *shape), "a", dtype=object)
    numbers = np.nan_to_num(made_up(math.prod(shape)), nan=0.5).clip(-1e4, 1e4)
    if given.type not in FLOATS:
        numbers = np.abs(numbers).clip(0, 1)
    return np.asarray(numbers.reshape(-1, *shape).astype(kind))


def _chosen(session: Any, place: Path) -> str:
    """The output with probabilities or logits; labels are passed over."""
    found = session.get_outputs()
    numbers = [o.name for o in found if o.type in FLOATS or o.type.startswith("seq(map(")]
    if len(numbers) > 1:
        numbers = [n for n in numbers if "prob" in n.lower()] or numbers
    listed = ", ".join(f"{o.name} ({o.type})" for o in found)
    require(
        len(numbers) == 1,
        f"Cannot tell which output of {place} holds the probabilities. It has {listed}: keep one "
        "of floats, or one with 'prob' in its name.",
    )
    return str(numbers[0])


def _graph(place: Path) -> Any:
    """The parsed model, without the tensors in other files, whose places are checked."""
    onnx = library("onnx", "onnx")
    try:
        model = onnx.load(str(place), load_external_data=False)
    except Exception as error:  # protobuf's own type
        raise InputError(
            f"Cannot load {place}: it is not an ONNX model: {_first(error)}"
        ) from error
    require(len(model.graph.output) > 0, f"Cannot load {place}: it is not an ONNX model.")
    folder = place.parent.resolve()
    for tensor in _tensors(model):
        for entry in tensor.external_data:
            if entry.key == "location":
                target = (folder / entry.value).resolve()
                require(
                    not Path(entry.value).is_absolute()
                    and target.is_relative_to(folder)
                    and target.is_file(),
                    f"Cannot load {place}: it stores the tensor {tensor.name!r} in "
                    f"{entry.value!r}, which is not a file in its own folder.",
                )
    return model


def _tensors(message: Any) -> Iterator[Any]:
    """All tensors of a model, wherever they are: graphs, attributes, functions."""
    if message.DESCRIPTOR.name == "TensorProto":
        yield message
        return
    for descriptor, value in message.ListFields():
        if descriptor.message_type is not None:
            for item in [value] if hasattr(value, "ListFields") else value:
                yield from _tensors(item)


def _classes(model: Any, output: str) -> tuple[Any, ...] | None:
    """The keys of the ZipMap that makes the output, if one does."""
    for node in model.graph.node:
        if node.op_type == "ZipMap" and output in node.output:
            for attribute in node.attribute:
                if attribute.strings:
                    return tuple(s.decode("utf-8") for s in attribute.strings)
                if attribute.ints:
                    return tuple(attribute.ints)
    return None


def _first(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
