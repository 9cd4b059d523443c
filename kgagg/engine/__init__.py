"""The engine: which rules predict which candidates for a query."""
