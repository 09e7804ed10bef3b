"""Classifiers behind MLflow's scoring server: ``POST /invocations`` with a data frame.

The server calls whatever the model was logged to do, which for scikit-learn is ``predict`` unless
told otherwise; a predicted class is not enough for an attack, and is told apart here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from divulge.data.tables import Frame
from divulge.models.base import Answers, Gives, Reads
from divulge.models.cells import Classifier, Outputs, cells, expected, read
from divulge.models.endpoint import Endpoint

PER_REQUEST = 256
LOGGED = (
    "Attacks need a probability per class, not the predicted class. Log the model with "
    "mlflow.sklearn.log_model(..., pyfunc_predict_fn='predict_proba') and serve that one."
)


@dataclass(frozen=True)
class ScoringServer(Classifier):
    """A classifier that takes rows of a data frame and gives a row of probabilities for each."""

    endpoint: Endpoint
    outputs: Outputs = "probabilities"
    classes: tuple[Any, ...] | None = None
    per_request: int = PER_REQUEST
    connections: int = 4
    reads: Reads = "features"
    gives: Gives = "probabilities"

    def _body(self, records: Frame) -> bytes:
        columns = list(records.columns)
        data = [cells(records, c, self.name, missing=True) for c in columns]
        rows = [list(row) for row in zip(*data, strict=True)]
        return json.dumps({"dataframe_split": {"columns": columns, "data": rows}}).encode()

    def _ask(self, part: slice, body: bytes) -> Answers:
        rows = part.stop - part.start
        answer = self.endpoint.post("", body, most=expected(rows, len(self.classes or ())))
        found = answer.get("predictions") if isinstance(answer, dict) else None
        if not isinstance(found, list) or len(found) != rows:
            self.endpoint.fail(f"must answer with {rows} predictions", answer)
        if all(isinstance(row, dict) for row in found):
            found = self._ordered(found)
        elif not any(isinstance(row, list) for row in found) and self._are_labels(found):
            self.endpoint.fail("gave predicted classes", found, LOGGED)
        return Answers(log_probabilities=read(self.endpoint, found, rows, self.outputs))

    def _ordered(self, rows: list[dict[str, Any]]) -> list[list[Any]]:
        """Rows of a data frame as lists: by the classes where columns are named after them."""
        names = list(rows[0])
        if any(set(row) != set(names) for row in rows):
            self.endpoint.fail("must give the same columns for every record", rows)
        wanted = [str(c) for c in self.classes or ()]
        order = wanted if set(wanted) == set(names) else names
        return [[row[name] for name in order] for row in rows]

    def _are_labels(self, found: list[Any]) -> bool:
        """One value per record is a probability only if two classes are named and it can be one."""
        if len(self.classes or ()) != 2 or not all(type(v) in (int, float) for v in found):
            return True
        if self.outputs == "logits":
            return False
        return not all(0 <= v <= 1 for v in found) or all(v in (0, 1) for v in found)
