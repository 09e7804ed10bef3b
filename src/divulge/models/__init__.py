"""How is a model asked? Files from strangers are loaded by formats that cannot run code."""

from __future__ import annotations

from divulge.models.base import Answers, Model
from divulge.models.estimator import adapt
from divulge.models.files import load

__all__ = ["Answers", "Model", "adapt", "load"]
