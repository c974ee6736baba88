"""Starts a zygote: `zygote.py PRELOAD`, with the spawn server's socket as descriptor 3."""

import sys

from carrel_kernel import zygote

sys.path[0] = ""
zygote.serve(sys.argv[1])
