"""Terminal text from a result; computes no statistics."""
