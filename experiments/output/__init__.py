"""What a command shows and leaves behind: terminal, tables, CSV, figures, report."""
