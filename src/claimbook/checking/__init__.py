"""Compare what a run printed with its page: kinds of difference, and the report."""
