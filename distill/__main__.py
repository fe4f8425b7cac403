"""Run the command `distill` as `python -m distill`."""

from .cli import main

main()
