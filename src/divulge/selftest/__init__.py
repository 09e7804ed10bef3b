"""Does the auditor keep its word? Coverage of every bound on mechanisms with a known answer."""

from divulge.selftest.case import Case, Check
from divulge.selftest.cases import cases
from divulge.selftest.row import Row
from divulge.selftest.run import run

__all__ = ["Case", "Check", "Row", "cases", "run"]
