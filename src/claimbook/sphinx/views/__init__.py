"""What pages show of the whole book."""
