"""What is kept: runs by page and lane, releases of torch, machines, versions of the book."""
