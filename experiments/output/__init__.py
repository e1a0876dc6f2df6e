"""Output of commands: terminal, tables, CSV, figures, report."""
