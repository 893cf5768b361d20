"""Claims that run: read from pages, run on lanes, compared, recorded and shown."""

__version__ = "0.3.0"
