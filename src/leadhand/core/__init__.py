"""The core: values, events, journal, ports, agent loop, team, budget. Standard library, anyio and msgspec only."""
