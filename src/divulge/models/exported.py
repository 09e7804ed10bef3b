"""Archives of ``torch.export`` (``.pt2``), checked before torch sees them.

``torch.export.load`` trusts its file: it falls back to unrestricted pickle for sample inputs, loads
pickled weights and constants, hands symbolic sizes to ``eval`` through sympy, runs guards kept as
source text, writes names into generated code, and looks operators up by any path below ``torch``.
So an archive is unpacked here, everything in it must be of the forms listed below, and a fresh one
is given to torch that holds tensors and a checked graph, but no pickle, no guard and no comment.
"""

from __future__ import annotations

import ast
import io
import json
import re
from math import prod
from pathlib import Path
from typing import Any

from divulge.errors import InputError, require
from divulge.models import archives

KEPT = re.compile(
    r"models/model\.json|archive_format|archive_version|byteorder|\.data/\w+"
    r"|data/weights/(weight_\d+|model_weights_config\.json)"
    r"|data/constants/(tensor_\d+|model_constants_config\.json)"
)
DROPPED = re.compile(r"data/sample_inputs/model\.pt|extra/.*|\.format_version|\.storage_alignment")
NAME = re.compile(r"[\w.+\-]*", re.ASCII)
OPERATORS = re.compile(
    r"torch\.ops\.(aten|prims)\.(?!(from_file|save)\b)\w+(\.\w+)?"
    r"|torch\.ops\.higher_order\.(cond|wrap_with_set_grad_enabled|wrap_with_autocast)"
    r"|torch\.(sym_\w+|_sym_sqrt)|math\.\w+"
    r"|_operator\.(add|sub|mul|truediv|floordiv|mod|pow|neg|pos|getitem|eq|ne|lt|le|gt|ge|and_|or_)",
    re.ASCII,
)
SIZES = re.compile(
    "Symbol|Integer|Float|Rational|Add|Mul|Pow|Max|Min|Mod|FloorDiv|CeilDiv|CleanDiv|PythonMod|"
    "IntTrueDiv|FloatTrueDiv|ModularIndexing|Where|Equality|Unequality|StrictGreaterThan|"
    "GreaterThan|StrictLessThan|LessThan|And|Or|Not|ToFloat|TruncToInt|PowByNatural"
)
"""Functions that a symbolic size is written with."""
FREE_TEXT = ("metadata", "guards_code", "stack_trace")


def checked(place: Path) -> io.BytesIO:
    """A fresh archive of what is harmless in a file; InputError that names what is not."""
    files: dict[str, bytes] = {}
    for path, data in archives.contents(place).items():
        name = path.partition("/")[2]
        if KEPT.fullmatch(name):
            files[name] = data
        elif not DROPPED.fullmatch(name):
            raise InputError(
                f"Cannot load {place}: it holds {path!r}, which is neither a tensor nor the "
                "graph of an exported program. Compiled code, pickles and older formats are "
                "refused: export the model again with torch.export.save."
            )
    needed = ("models/model.json", "archive_version", "data/weights/model_weights_config.json")
    require(
        all(n in files for n in needed),
        f"Cannot load {place}: it is not an archive of torch.export (.pt2).",
    )
    try:
        for kind in ("weights", "constants"):
            _check_tensors(files, f"data/{kind}/")
        graph = _harmless(json.loads(files["models/model.json"]), "")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"Cannot load {place}: {error}") from error
    files["models/model.json"] = json.dumps(graph).encode()
    files["data/sample_inputs/model.pt"] = b""
    return archives.packed({f"model/{name}": data for name, data in files.items()})


def _check_tensors(files: dict[str, bytes], folder: str) -> None:
    """ValueError unless every tensor is stored as plain numbers, all of them in the archive."""
    name = next((n for n in files if n.startswith(folder) and n.endswith("_config.json")), None)
    for key, entry in (json.loads(files[name])["config"] if name else {}).items():
        if entry["use_pickle"] or not NAME.fullmatch(key):
            raise ValueError(f"the tensor {key!r} is stored as a pickle.")
        sizes = [s["as_int"] for s in entry["tensor_meta"]["sizes"]]
        stored = files[folder + entry["path_name"]]
        if prod(sizes) > 0 and len(stored) == 0:
            raise ValueError(f"the tensor {key!r} is empty.")


def _harmless(value: Any, key: str) -> Any:
    """A part of the graph without free text; ValueError for a string that could become code."""
    if isinstance(value, dict):
        for name in value:
            _check_string(name, "")
        kept = {k: v for k, v in value.items() if k not in FREE_TEXT}
        out = {k: _harmless(v, k) for k, v in kept.items()}
        out.update({k: type(value[k])() for k in FREE_TEXT if k in value and value[k] is not None})
        return out
    if isinstance(value, list):
        return [_harmless(v, key) for v in value]
    if isinstance(value, str):
        _check_string(value, key)
    return value


def _check_string(text: str, key: str) -> None:
    if key in ("target", "as_operator"):
        if not OPERATORS.fullmatch(text):
            raise ValueError(f"it calls {text!r}, which is not an operator on tensors or numbers.")
    elif key == "expr_str":
        _check_size(text)
    elif key in ("in_spec", "out_spec"):
        _check_structure(text)
    elif key != "as_string" and not NAME.fullmatch(text):
        raise ValueError(f"the name {text[:80]!r} could become code.")


def _check_size(text: str) -> None:
    """ValueError unless a size is made of numbers, symbols and known functions of them."""
    for node in ast.walk(ast.parse(text, mode="eval")):
        sound = (
            isinstance(node, ast.Expression | ast.Load | ast.keyword | ast.UnaryOp | ast.USub)
            or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
            or (isinstance(node, ast.Name) and SIZES.fullmatch(node.id) is not None)
            or (isinstance(node, ast.Constant) and NAME.fullmatch(str(node.value)) is not None)
        )
        if not sound:
            raise ValueError(f"the size {text[:80]!r} could become code.")


def _check_structure(text: str) -> None:
    """ValueError unless a description of nested inputs names types and keys alone."""
    if text and not NAME.fullmatch(text):
        value = json.loads(text)
        parts = [value]
        while parts:
            part = parts.pop()
            if isinstance(part, dict):
                parts.extend([*part.keys(), *part.values()])
            elif isinstance(part, list):
                parts.extend(part)
            elif isinstance(part, str):
                _check_structure(part)
    elif text == "__enum__":
        raise ValueError("its inputs are described by a custom type.")
