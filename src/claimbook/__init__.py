"""Read claims from pages, run them on lanes, compare, record and show the results."""

__version__ = "0.4.0"
