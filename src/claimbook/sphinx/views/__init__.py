"""Views of the whole book, shown on pages."""
