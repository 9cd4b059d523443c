"""Mining rules: AnyBURL and AMIE3 over Java."""
