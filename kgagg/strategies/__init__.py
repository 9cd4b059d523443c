"""Aggregation: from the rules that predict a candidate to one score."""
