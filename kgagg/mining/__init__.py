"""Miners: AnyBURL and AMIE over Java, the native one, and exact counts of what rules predict."""
