"""Claims: what a paper says, as contrasts of cells; their estimates and verdicts; and how they are shown."""
