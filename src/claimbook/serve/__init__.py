"""Serves the book while it is written: builds at each save, with the imports made beforehand."""
