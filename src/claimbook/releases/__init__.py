"""The book on other releases of torch: what each claim did there, and since when."""
