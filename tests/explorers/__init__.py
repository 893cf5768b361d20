"""What torch answers to the cases of the explorers, and what their JavaScript answers."""
