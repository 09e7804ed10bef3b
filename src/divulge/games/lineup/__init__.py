"""The line-up game: a true value among others that the same chance might have drawn."""
