"""Markdown to claims: MyST, the directive, the page scan, the register, the book as a whole."""
