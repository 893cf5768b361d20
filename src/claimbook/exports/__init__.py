"""Export the book: data, notebooks, Markdown, EPUB, cards, search index."""
