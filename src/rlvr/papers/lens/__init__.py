"""LENS: its exact statements (theory) and the weight of failed groups in closed form."""
