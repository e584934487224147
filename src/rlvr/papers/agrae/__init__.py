"""A-GRAE: its exact statements (theory), weights in closed form, and pictures with answers of two policies."""
