"""Change one thing in a claim's code and see whether its examples notice."""
