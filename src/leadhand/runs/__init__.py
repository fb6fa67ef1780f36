"""One run from start to end: spec, ports, team, collect, grade."""
