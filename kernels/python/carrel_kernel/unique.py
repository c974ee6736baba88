"""What two forks of one zygote must not share: the state of everything that is meant to be random.

Python reseeds its own `random` after a fork, os.urandom and uuid4 ask the kernel each time. The rest is done here. The seed of
hash(str) and the places in memory cannot be changed in a living process: who needs them apart asks for `isolated`.
"""

import gc
import os
import sys


def remember():
    """The generators that modules have made while they were imported. Called before gc.freeze, which hides them."""
    if "_hashlib" in sys.modules:
        import _ssl  # noqa: F401  the same library below: what reseeds it must be at hand after the fork
    kinds = tuple(
        kind
        for module, name in (
            ("random", "Random"),
            ("numpy.random", "RandomState"),
            ("numpy.random", "BitGenerator"),
        )
        if isinstance(kind := getattr(sys.modules.get(module), name, None), type)
    )
    return [thing for thing in gc.get_objects() if isinstance(thing, kinds)] if kinds else []


def reseed(generators):
    ssl = sys.modules.get("_ssl")
    if ssl is not None:
        ssl.RAND_add(os.urandom(64), 64.0)
    for generator in generators:
        reseed_one(generator)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
    for module, name in (
        ("tempfile", "_name_sequence"),
        ("uuid", "_node"),
        ("uuid", "_last_timestamp"),
        ("uuid", "_last_timestamp_v7"),
    ):
        if hasattr(sys.modules.get(module), name):
            setattr(sys.modules[module], name, None)
    process = sys.modules.get("multiprocessing.process")
    if process is not None:
        # Its key lets processes of one program trust each other.
        process.current_process().authkey = os.urandom(32)


def reseed_one(generator):
    if hasattr(generator, "seed") and not hasattr(generator, "capsule"):
        generator.seed()
    elif hasattr(generator, "capsule"):
        # numpy's bit generators take no seed once they are made, but the state of a fresh one.
        generator.state = type(generator)().state
