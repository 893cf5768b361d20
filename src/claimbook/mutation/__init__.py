"""Claims with one thing changed: what their examples notice, and what other rounding does."""
