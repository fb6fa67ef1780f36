"""A grid of team designs in one file, run to the end: file -> runs -> engine -> resume."""
