"""Claims of papers as contrasts of cells, their estimates and verdicts, and their tables and pages."""
