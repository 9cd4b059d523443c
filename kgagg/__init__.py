"""Apply and aggregate rules for knowledge graph completion."""

__version__ = "0.1.0"
