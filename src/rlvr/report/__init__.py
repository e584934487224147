"""The report: static pages, one file each, with every number's provenance."""
