"""`python -m coterie` is the command `coterie`."""

import sys

from coterie.cli import main

sys.exit(main())
