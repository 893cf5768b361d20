"""`python -m claimbook`, the same as the command `claimbook`."""

from .cli import main

main(prog_name="claimbook")
