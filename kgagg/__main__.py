"""`python -m kgagg` is `kgagg`."""

import sys

from kgagg.cli import main

sys.exit(main())
