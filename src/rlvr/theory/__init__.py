"""What the five papers state, checked: the ledger, and their analytic tables and figures. Nothing is trained here."""
