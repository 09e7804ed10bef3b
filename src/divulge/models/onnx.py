"""ONNX classifiers through onnxruntime, on the CPU and without operators of anybody's own.

The file is opened in a process of its own first (``rehearsal``), and tensors that it keeps in other
files must lie in its own folder. One input takes all features, as a matrix or in the shape that it
declares; several inputs take the columns of their names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge import tables
from divulge.errors import InputError, require
from divulge.models import columns
from divulge.models.base import BATCH, Answers, Gives, Reads
from divulge.models.outputs import Outputs, log_probabilities
from divulge.models.rehearsal import library, made_up, rehearse
from divulge.tables import Frame
from divulge.threads import number_for_network

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
        return columns.shaped(records, shape, f"Input {given.name!r} of {self.name}", kind)

    def _run(self, feeds: dict[str, npt.NDArray[Any]], rows: int) -> Any:
        """The output for all rows; in parts where the model reads a fixed number at once."""
        fixed = self.session.get_inputs()[0].shape[:1]
        step = fixed[0] if fixed and isinstance(fixed[0], int) and fixed[0] > 0 else rows
        parts = []
        for index in columns.blocks(rows, step, step):
            try:
                (found,) = self.session.run([self.output], {k: v[index] for k, v in feeds.items()})
            except Exception as error:  # the runtime has a type of its own for every failure
                raise InputError(f"{self.name} cannot be asked: {_first(error)}") from error
            parts.append(self._values(found))
        return np.concatenate(parts)[:rows]

    def _values(self, found: Any) -> Any:
        """A matrix, also of what ZipMap makes: one mapping from class to probability per row."""
        if isinstance(found, list):
            keys = self.classes or tuple(found[0])
            found = [[row[k] for k in keys] for row in found]
        return np.asarray(found, dtype=float)

    def try_out(self) -> None:
        """Ask about made-up records, where all inputs are numbers of a known shape."""
        inputs = self.session.get_inputs()
        shapes = [tuple(i.shape[1:]) for i in inputs]
        if all(i.type in FLOATS for i in inputs) and all(
            isinstance(s, int) for shape in shapes for s in shape
        ):
            feeds = {
                i.name: np.nan_to_num(made_up(int(np.prod(shape))), nan=0.5)
                .clip(-1e4, 1e4)
                .reshape(-1, *shape)
                .astype(TYPES[i.type])
                for i, shape in zip(inputs, shapes, strict=True)
            }
            self._run(feeds, 64)


def load(place: Path, *, outputs: Outputs = "probabilities") -> Onnx:
    """A classifier from a .onnx file; InputError that says what is wrong."""
    library("onnxruntime", "onnx")
    _graph(place)
    rehearse(__name__, place)
    return opened(place, outputs=outputs)


def opened(place: Path, *, outputs: Outputs = "probabilities") -> Onnx:
    """A classifier from a file that is known not to crash the runtime."""
    runtime = library("onnxruntime", "onnx")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = number_for_network(place.stat().st_size // _BYTES)
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        session = runtime.InferenceSession(str(place), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime has a type of its own for every failure
        raise InputError(f"Cannot load {place}: {_first(error)}") from error
    strange = [f"{i.name} ({i.type})" for i in session.get_inputs() if i.type not in TYPES]
    require(not strange, f"Cannot load {place}: it has inputs of other types: {strange}.")
    output = _chosen(session, place)
    return Onnx(session, place.name, output, outputs, _classes(_graph(place), output))


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
        raise InputError(f"Cannot load {place}: it is no ONNX model: {_first(error)}") from error
    require(len(model.graph.output) > 0, f"Cannot load {place}: it is no ONNX model.")
    folder = place.parent.resolve()
    for tensor in _tensors(model):
        for entry in tensor.external_data:
            if entry.key == "location":
                target = (folder / entry.value).resolve()
                require(
                    not Path(entry.value).is_absolute()
                    and target.is_relative_to(folder)
                    and target.is_file(),
                    f"Cannot load {place}: it keeps the tensor {tensor.name!r} in {entry.value!r}, "
                    "which is no file in its own folder.",
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
