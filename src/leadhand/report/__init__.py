"""Figures, tables and one HTML page from a study. Numbers come from `analysis`; here they are only shown."""
