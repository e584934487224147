"""The report: static pages, each one file, with every number's provenance."""
