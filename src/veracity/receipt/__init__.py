"""A run's receipt as one self-contained HTML page."""
