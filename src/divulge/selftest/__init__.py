"""Does the auditor keep its word? Coverage of every bound on mechanisms with a known answer."""

from divulge.selftest.case import Case
from divulge.selftest.cases import cases
from divulge.selftest.run import Row, run

__all__ = ["Case", "Row", "cases", "run"]
