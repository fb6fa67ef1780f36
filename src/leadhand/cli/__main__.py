"""`python -m leadhand.cli`."""

from leadhand.cli import main

main()
