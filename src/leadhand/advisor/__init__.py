"""What to run for this task and this money: a small statistical model over own runs and published figures."""
