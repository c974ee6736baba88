"""Starts the Python kernel. Kept this short because Python never caches the script it is given; the package is cached."""

import sys

# With -S nothing but the kernel has run yet: the script's folder is first on sys.path exactly once, here.
from carrel_kernel import session

sys.path[0] = ""
session.serve()
