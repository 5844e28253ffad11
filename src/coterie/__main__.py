"""`python -m coterie` is the command `coterie`."""

from coterie_command import main

main()
