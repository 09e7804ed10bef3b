"""Classifiers behind the Open Inference Protocol V2: KServe, Triton, MLServer, OpenVINO and others.

``GET /v2/models/<name>`` tells the inputs and outputs, ``POST /v2/models/<name>/infer`` takes
tensors as JSON. A model with one input gets all columns as one matrix, one with several gets each
column under its own name.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from divulge.data.tables import Frame
from divulge.errors import require
from divulge.models.base import Answers, Gives, Reads
from divulge.models.cells import Classifier, Outputs, cells, expected, read
from divulge.models.endpoint import Endpoint

PER_REQUEST = 256
FLOATS = ("FP16", "FP32", "FP64", "BF16")
INTEGERS = tuple(f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))


@dataclass(frozen=True)
class Tensor:
    """A named array that a model takes or gives; -1 stands for any size."""

    name: str
    datatype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class InferenceV2(Classifier):
    """A classifier that takes tensors and gives a row of probabilities per record."""

    endpoint: Endpoint
    inputs: tuple[Tensor, ...] = field(repr=False)
    output: str | None = field(default=None, repr=False)
    """The output that holds the probabilities; None where the server lists no outputs."""
    outputs: Outputs = "probabilities"
    classes: tuple[Any, ...] | None = None
    width: int = 0
    """Numbers per record in that output, where the server says how many."""
    per_request: int = PER_REQUEST
    connections: int = 4
    reads: Reads = "features"
    gives: Gives = "probabilities"

    def _body(self, records: Frame) -> bytes:
        asked: dict[str, Any] = {"inputs": self._tensors(records)}
        if self.output is not None:
            asked["outputs"] = [{"name": self.output}]
        return json.dumps(asked).encode()

    def _tensors(self, records: Frame) -> list[dict[str, Any]]:
        rows, columns = len(records), list(records.columns)
        if len(self.inputs) == 1:
            (tensor,) = self.inputs
            width = 1 if len(tensor.shape) == 1 else tensor.shape[-1]
            if len(tensor.shape) > 2 or width not in (-1, len(columns)):
                self.endpoint.fail(
                    f"takes an input of shape {list(tensor.shape)}, but the table has "
                    f"{len(columns)} feature columns"
                )
            data = [self._cells(records, c, tensor) for c in columns]
            flat = [value for row in zip(*data, strict=True) for value in row]
            return [_sent(tensor, [rows, len(columns)], flat)]
        named = {t.name: t for t in self.inputs}
        if set(named) != set(columns):
            self.endpoint.fail(
                "takes one input per feature, and their names are not the names of the columns "
                f"({', '.join(map(repr, columns[:8]))})",
                sorted(named),
            )
        return [_sent(t, [rows, 1], self._cells(records, t.name, t)) for t in self.inputs]

    def _cells(self, records: Frame, column: str, tensor: Tensor) -> list[Any]:
        """A column as the values of a tensor's type."""
        values = cells(records, column, self.name, missing=False)
        where = f"Column {column!r} cannot be sent to {self.name}, which takes"
        if tensor.datatype == "BYTES":
            return [v if isinstance(v, str) else str(v) for v in values]
        require(not any(isinstance(v, str) for v in values), f"{where} numbers, not text.")
        if tensor.datatype in FLOATS:
            return [float(v) for v in values]
        if tensor.datatype == "BOOL":
            require(all(v in (0, 1) for v in values), f"{where} true and false.")
            return [bool(v) for v in values]
        require(all(float(v).is_integer() for v in values), f"{where} whole numbers.")
        return [int(v) for v in values]

    def _ask(self, part: slice, body: bytes) -> Answers:
        rows = part.stop - part.start
        answer = self.endpoint.post(
            "/infer", body, most=expected(rows, len(self.classes or ()) or self.width)
        )
        listed = answer.get("outputs") if isinstance(answer, dict) else None
        if not isinstance(listed, list) or not all(isinstance(o, dict) for o in listed):
            self.endpoint.fail("must answer with a list of outputs", answer)
        found = [o for o in listed if self.output in (None, o.get("name"))]
        if len(found) != 1:
            names = [o.get("name") for o in listed]
            self.endpoint.fail(
                "must give one output with the probabilities",
                names,
                "Name it (--with output=NAME).",
            )
        return Answers(
            log_probabilities=read(self.endpoint, self._rows(found[0], rows), rows, self.outputs)
        )

    def _rows(self, output: dict[str, Any], rows: int) -> list[Any]:
        """The rows of an output; its data may be nested or flat."""
        data, shape = output.get("data"), output.get("shape")
        if not isinstance(data, list):
            self.endpoint.fail("must give the data of an output as a JSON list", output)
        if output.get("datatype") not in FLOATS:
            self.endpoint.fail(
                "gave no floating-point numbers: attacks need a probability per class, not the "
                "predicted class",
                output,
                "Serve the model with an output of probabilities and name it (--with output=NAME).",
            )
        if not isinstance(shape, list) or shape[:1] != [rows] or not _matrix(shape):
            self.endpoint.fail(f"must give an output of {rows} rows", shape)
        if any(isinstance(v, list) for v in data):
            return data
        width = shape[1] if len(shape) == 2 else 1
        if len(data) != rows * width:
            self.endpoint.fail(f"must give {rows} times {width} numbers", len(data))
        return [data[i : i + width] for i in range(0, len(data), width)]


def _matrix(shape: list[Any]) -> bool:
    return len(shape) in (1, 2) and all(type(s) is int and s >= 1 for s in shape)


def _sent(tensor: Tensor, shape: list[int], data: list[Any]) -> dict[str, Any]:
    """A tensor of the request; a model that takes a vector per input gets no second dimension."""
    kept = shape[:1] if len(tensor.shape) == 1 else shape
    return {"name": tensor.name, "shape": kept, "datatype": tensor.datatype, "data": data}


def open_inference_v2(
    endpoint: Endpoint,
    *,
    output: str | None = None,
    outputs: Outputs = "probabilities",
    classes: tuple[Any, ...] | None = None,
    batch: int | None = None,
    connections: int = 4,
) -> InferenceV2:
    """The model that an address describes; its metadata must be in order."""
    described = endpoint.get()
    if not isinstance(described, dict):
        endpoint.fail("must describe its model as an object", described)
    inputs = _declared(endpoint, described, "inputs") or (Tensor("input-0", "FP64", (-1, -1)),)
    names = {t.name: t for t in _declared(endpoint, described, "outputs")}
    for tensor in inputs:
        if tensor.datatype not in (*FLOATS, *INTEGERS, "BOOL", "BYTES"):
            endpoint.fail("takes an input of a type that is not known", tensor.datatype)
    if output is None and names:
        output = _chosen(endpoint, names)
    elif output is not None and names and output not in names:
        endpoint.fail(f"has no output {output!r}", sorted(names))
    width = max(0, names[output].shape[-1]) if output in names else 0
    return InferenceV2(
        endpoint, inputs, output, outputs, classes, width, batch or PER_REQUEST, connections
    )


def _declared(endpoint: Endpoint, described: dict[str, Any], key: str) -> tuple[Tensor, ...]:
    found = described.get(key) or []
    if not isinstance(found, list):
        endpoint.fail(f"must list its {key}", found)
    out = []
    for one in found:
        shape = one.get("shape") if isinstance(one, dict) else None
        sound = isinstance(shape, list) and shape and all(type(s) is int for s in shape)
        if not sound or not all(isinstance(one.get(k), str) for k in ("name", "datatype")):
            endpoint.fail(f"must give name, datatype and shape of its {key}", one)
        out.append(Tensor(one["name"], one["datatype"], tuple(one["shape"])))
    return tuple(out)


def _chosen(endpoint: Endpoint, names: dict[str, Tensor]) -> str:
    """The only output, or the only one of several whose name speaks of probabilities."""
    likely = list(names) if len(names) == 1 else [n for n in names if "prob" in n.lower()]
    if len(likely) != 1:
        endpoint.fail(
            "has several outputs",
            sorted(names),
            "Name the one with the probabilities (--with output=NAME).",
        )
    return likely[0]
