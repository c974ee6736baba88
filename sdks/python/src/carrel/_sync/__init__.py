# Written by sdks/generate.py from the file of this name in _async. Change that one.
"""The asynchronous surface, from which sdks/generate.py writes the blocking one."""
