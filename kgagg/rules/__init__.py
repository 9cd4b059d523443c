"""Rules: their shapes, the text forms of AnyBURL, PyClause and AMIE, columns, confidence."""
