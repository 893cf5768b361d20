"""Search for counterexamples to what claims say of all: functions that run on drawn values."""
