"""`python -m claimbook`, and the command `claimbook`."""

import sys


def main() -> None:
    """Run the command; a ^C while it is imported, which takes half a second, ends it in silence."""
    try:
        from claimbook.cli import main as command
    except KeyboardInterrupt:
        sys.exit(130)
    command(prog_name="claimbook")


if __name__ == "__main__":
    main()
