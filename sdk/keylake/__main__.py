"""`python -m keylake` is the command `keylake`."""

from keylake.cli.app import main

main()
