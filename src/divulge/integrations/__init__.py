"""divulge within other tools: pytest, scikit-learn."""
