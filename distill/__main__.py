"""`python -m distill` is the command `distill`."""

from .cli import main

main()
