"""The versions of the book: what each said, kept, and what changed from one to the next."""
