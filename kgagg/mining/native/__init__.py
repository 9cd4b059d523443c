"""The native miner, which needs only this package."""
