"""Other forms of the book, made from the same claims."""
