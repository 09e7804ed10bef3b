"""Models that the user names as ``module:name``: functions, or objects with ``predict_proba``.

The module is imported from the current folder or from what is installed: it is the user's own code.
"""

from __future__ import annotations

import re
import sys
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

from divulge.errors import InputError, require
from divulge.models import code
from divulge.text.masking import shown

ADDRESS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*\Z")


def is_address(where: str) -> bool:
    """Whether a text has the form ``module:name``."""
    return ADDRESS.match(where) is not None


def named(where: str) -> Any:
    """The object at ``module:name``; InputError that says which half was not found."""
    require(is_address(where), f"An object is named as module:name. Found {shown(where)!r}.")
    module, _, name = where.partition(":")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found = import_module(module)
        code.remembered(found)
    except ModuleNotFoundError as error:
        raise InputError(
            f"There is no module {error.name!r} in this folder or among the installed packages."
        ) from error
    except (Exception, SystemExit) as error:  # the module's own code
        raise InputError(f"Cannot import {module}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(here)
    try:
        return reduce(getattr, name.split("."), found)
    except AttributeError:
        raise InputError(f"The module {module!r} has no attribute {name!r}.") from None
