"""Search for counterexamples to general claims, with functions that run on drawn values."""
