"""`python -m claimbook`, the same as the command `claimbook`."""

from claimbook.cli import main

main(prog_name="claimbook")
