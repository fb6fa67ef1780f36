"""Public doubles for users' own tests: scripted model, fake provider server, virtual clock, contract suites."""
