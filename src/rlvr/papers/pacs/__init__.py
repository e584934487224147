"""PACS: its exact statements (theory), weights in closed form, a map of solutions, and tables of published values."""
