"""The book in other forms: data, notebooks, Markdown, EPUB, cards, what the search reads."""
