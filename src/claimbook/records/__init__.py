"""Saved results: runs by page and lane, releases of torch, machines, versions of the book."""
