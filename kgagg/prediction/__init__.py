"""Answers to queries, new facts, and how probable they are."""
