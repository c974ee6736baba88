"""What two forks of one zygote must not share: the state of everything that is meant to be random.

os.urandom and uuid4 ask the kernel each time. The rest is done here, `random` too, since zygotes fork without Python's own work
after it. The seed of hash(str) and the places in memory cannot be changed in a living process: who needs them apart asks for
`isolated`.
"""

import ctypes
import gc
import os
import sys


def remember():
    """How to reseed each generator that modules have made while they were imported. Called before gc.freeze, which hides them."""
    if "_hashlib" in sys.modules:
        import _ssl  # noqa: F401  the same library below: what reseeds it must be at hand after the fork
    kinds = known(("random", "Random"), ("numpy.random", "RandomState"), ("numpy.random", "BitGenerator"))
    stateless = known(("random", "SystemRandom"))
    found = [thing for thing in gc.get_objects() if isinstance(thing, kinds) and not isinstance(thing, stateless)]
    # The one behind numpy.random's functions is there by name, should the collector not know it.
    usual = getattr(sys.modules.get("numpy.random.mtrand"), "_rand", None)
    if usual is not None and not any(thing is usual for thing in found):
        found.append(usual)
    return [way_to_reseed(generator) for generator in found]


def known(*names):
    """Those of the types that are loaded."""
    kinds = (getattr(sys.modules.get(module), name, None) for module, name in names)
    return tuple(kind for kind in kinds if isinstance(kind, type))


def way_to_reseed(generator):
    core = getattr(generator, "_bit_generator", generator)
    if core is not generator:
        # With it goes a number that was made together with another and kept for the next time.
        generator.set_state({**generator.get_state(legacy=False), "has_gauss": 0, "gauss": 0.0})
    if not hasattr(core, "capsule"):
        return generator.seed
    words = mersenne_words(core)
    if words is not None:
        # What seed() does costs every fork half a megabyte of its own, and comes to less.
        address, size = words
        return lambda: ctypes.memmove(address, os.urandom(size), size)
    # numpy's bit generators take no seed once they are made, but the state of a fresh one.
    return lambda: setattr(core, "state", type(core)().state)


def mersenne_words(generator):
    """Address and size of a Mersenne Twister's words, all of which may have any value; None if they are not where we think."""
    words = generator.state.get("state", {})
    words = words.get("key") if isinstance(words, dict) and type(generator).__name__ == "MT19937" else None
    if words is None:
        return None
    address, expected = generator.ctypes.state_address, words.tobytes()
    return (address, len(expected)) if ctypes.string_at(address, len(expected)) == expected else None


def reseed(ways):
    ssl = sys.modules.get("_ssl")
    if ssl is not None:
        ssl.RAND_add(os.urandom(64), 64.0)
    for way in ways:
        way()
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
