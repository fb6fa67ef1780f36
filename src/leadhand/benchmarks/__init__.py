"""Benchmarks: tasks in, grades out."""
