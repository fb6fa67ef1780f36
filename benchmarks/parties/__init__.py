"""What the loop benchmark measures, each in a process of its own."""
