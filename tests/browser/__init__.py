"""The built site, as a browser shows it."""
