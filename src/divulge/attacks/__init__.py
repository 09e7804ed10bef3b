"""How is a trial scored? Each attack names its paper, its sign and what it needs."""

from divulge.attacks.last_layer import gradient_table
from divulge.attacks.means import attack_mean, likelihood_ratio, scalar_product

__all__ = ["attack_mean", "gradient_table", "likelihood_ratio", "scalar_product"]
