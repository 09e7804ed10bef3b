"""What does the record give away without the model?"""

from divulge.shift.balance import balance, keep_probabilities

__all__ = ["balance", "keep_probabilities"]
