"""Tables: data frames to CSV, Markdown and LaTeX. They show intervals but compute none."""
