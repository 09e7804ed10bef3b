"""How exposed is one record through a mean? Covariances without d x d, leakage, exact curves."""
