"""What is probable of epsilon, given error counts? The exact posterior."""
