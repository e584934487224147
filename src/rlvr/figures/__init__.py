"""Figures: data frames to PDF and PNG. No checkpoint is loaded and no interval computed here."""
