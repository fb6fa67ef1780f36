"""Trials of the advisor where the truth is known: the public leaderboard, and synthetic worlds."""
