"""Figures: data frames to PDF and PNG. They load no checkpoint and compute no interval when they draw."""
