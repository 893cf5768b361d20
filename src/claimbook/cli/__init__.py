"""The command `claimbook`: what authors and operators type."""

import click

from claimbook import __version__
from claimbook.cli.accept import accept_outputs
from claimbook.cli.ask import coverage, list_claims, show
from claimbook.cli.falsify import falsify_claims
from claimbook.cli.run import record, run


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="claimbook")
def main() -> None:
    """Runs, lists and records the claims of the book around the current folder."""


for command in (list_claims, show, coverage, run, record, accept_outputs, falsify_claims):
    main.add_command(command)
