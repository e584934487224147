"""ACE: its exact statements (theory)."""
