"""Tables: data frames to CSV, Markdown and LaTeX. No interval is computed here."""
