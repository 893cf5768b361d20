"""Run claims: a pool of workers, the channel to them, their isolation and environment."""
