"""The asynchronous surface, from which sdks/generate.py writes the blocking one."""
