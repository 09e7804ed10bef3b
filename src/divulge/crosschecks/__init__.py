"""The same once more, by brute force: samplers, importance sampling, simulation."""
