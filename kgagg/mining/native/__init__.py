"""The miner that needs nothing but this package."""
