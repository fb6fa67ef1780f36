"""Commit0-Lite: 16 Python libraries whose functions were emptied, scored by their own tests."""
