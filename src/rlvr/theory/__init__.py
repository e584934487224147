"""The papers' exact statements, checked in a ledger, and their analytic tables and figures. Nothing is trained here."""
