"""Who does long work? This process, others of this machine, a Dask cluster or a Ray cluster."""

from divulge.work.engine import BACKENDS, SERIAL, Engine, Keep

__all__ = ["BACKENDS", "SERIAL", "Engine", "Keep"]
