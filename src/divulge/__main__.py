"""``python -m divulge``."""

from divulge.cli import main

main()
