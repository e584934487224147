"""Configuration: YAML files -> checked settings -> the plan of all runs, with identities. No torch here."""
