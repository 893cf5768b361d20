"""Running claims: a pool of workers, the channel to them, their isolation, their environment."""
