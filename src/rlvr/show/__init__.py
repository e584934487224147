"""What models wrote, and how two runs or evaluations differ: as text for a terminal, and as one HTML file."""
