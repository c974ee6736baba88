"""The Python kernel of a context: spec/kernel-protocol.md on the standard library.

session   the loop: reads a request, runs the cell, writes events (loaded at start; everything below on first use)
imports   site-packages and the hooks on other people's modules
rich      mime bundles, display(), figures
charts    what figures and tables show, as data
failures  errors and tracebacks
aio       the event loop behind top-level await
magics    IPython syntax
complete  completion
zygote    forks ready kernels into sandboxes; unique makes each of them one of its kind
"""
