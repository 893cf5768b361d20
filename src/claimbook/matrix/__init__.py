"""The book on other releases of torch, each in an environment of its own."""
