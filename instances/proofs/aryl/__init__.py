"""What proves a bound of Aryl's problems: derivations over programs of their own."""
