"""What a run printed against what the page says: kinds of difference, and the report."""
