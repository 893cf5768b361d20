"""The command `claimbook`."""

import os
import signal
import sys
from io import TextIOWrapper
from pathlib import Path

import click

from claimbook import __version__
from claimbook.cli import common
from claimbook.cli.accept import accept_outputs
from claimbook.cli.ask import list_claims, show
from claimbook.cli.changes import print_changes
from claimbook.cli.explain import explain_error
from claimbook.cli.records import record, record_release
from claimbook.cli.refute import falsify_claims, sweep_claims
from claimbook.cli.rename import rename
from claimbook.cli.run import run


@click.group(
    cls=common.Commands,
    commands=[
        *(list_claims, show, explain_error, run, record, accept_outputs),
        *(falsify_claims, sweep_claims, record_release, print_changes, rename),
    ],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="claimbook")
def main() -> None:
    """Run, list and record the claims of the book around the current folder."""
    signal.signal(signal.SIGTERM, _stop)
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed: the next file opened would get its descriptor
            nothing = Path(os.devnull).open("r+", encoding="utf-8")  # noqa: SIM115
            os.set_inheritable(nothing.fileno(), True)
            setattr(sys, name, nothing)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _stop(*_: object) -> None:
    """Stop as on ^C; ignore a second signal, so that cleanup finishes."""
    if not isinstance(sys.exception(), KeyboardInterrupt):
        raise KeyboardInterrupt
