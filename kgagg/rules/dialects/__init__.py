"""The text forms of rules, one module each."""
