"""`python -m keylake` is the command `keylake`."""

from keylake.cli import main

main()
