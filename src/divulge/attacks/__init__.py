"""How is a trial scored? Each attack names its paper, its sign and what it needs."""
