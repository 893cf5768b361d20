"""Claims with one thing changed, and what their examples notice of it."""
