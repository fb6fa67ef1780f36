"""`python -m leadhand`."""

from leadhand.cli import main

main()
