"""Which public methods the classes of a package have, found by looking at them, and which of these the program called.

What a method calls in its turn does not count. Names are as in JavaScript: ``Class.method`` for what belongs to the class and
``Class#method`` for the others; "async " comes before those of the asynchronous half.
"""

import contextvars
import enum
import functools
import importlib
import inspect

_inside = contextvars.ContextVar("inside", default=False)
_seen = set()
_all = set()
_used = set()


def watch(*packages):
    """Looks at every class that the packages export, and at what their methods will give."""
    for name in packages:
        module = importlib.import_module(name)
        for exported in getattr(module, "__all__", dir(module)):
            _watch_type(getattr(module, exported))


def uncalled(excused):
    """Public methods that the program did not call; an excuse is for one, ``Class.*`` for a class's own or ``Class#*``."""
    plain = {_plain(key) for key in excused}

    def is_excused(key):
        key = _plain(key)
        kind = "#" if "#" in key else "."
        return key in plain or key.split(kind)[0] + kind + "*" in plain

    return sorted(key for key in _all - _used if not is_excused(key))


def has(key):
    """Whether any class has a method of that name, however it is spelt."""
    return any(_plain(key) == _plain(one) for one in _all)


def _plain(key):
    return key.removeprefix("async ").replace("_", "").lower()


def _watch_type(kind):
    if not inspect.isclass(kind) or issubclass(kind, (BaseException, dict, str, bytes, enum.Enum)):
        return
    for one in kind.__mro__:
        if one not in _seen and one.__module__.split(".")[0] in ("e2b", "e2b_code_interpreter"):
            _seen.add(one)
            for name, member in list(vars(one).items()):
                if not name.startswith("_"):
                    _cover(one, name, member)


def _cover(kind, name, member):
    both = type(member).__name__ in ("class_method_variant", "DualMethod")
    if isinstance(member, property) or not (both or isinstance(member, (staticmethod, classmethod)) or inspect.isfunction(member)):
        return
    half = "async " if "async" in kind.__module__ else ""
    # JavaScript has the methods of both in the base.
    name_of_class = kind.__name__.removeprefix("Async")
    owner = half + ("TemplateBase" if name_of_class == "Template" else name_of_class)
    recorded = _Recorded(member, f"{owner}.{name}", f"{owner}#{name}")
    if both or not inspect.isfunction(member):
        _all.add(recorded.of_class)
    if both or inspect.isfunction(member):
        _all.add(recorded.of_object)
    setattr(kind, name, recorded)


class _Recorded:
    def __init__(self, member, of_class, of_object):
        self.member = member
        self.of_class = of_class
        self.of_object = of_object

    def __get__(self, instance, owner=None):
        bound = self.member.__get__(instance, owner)
        key = self.of_class if instance is None or self.of_object not in _all else self.of_object

        @functools.wraps(bound)
        def call(*given, **named):
            if _inside.get():
                return bound(*given, **named)
            _used.add(key)
            token = _inside.set(True)
            try:
                result = bound(*given, **named)
            finally:
                _inside.reset(token)
            return _awaited(result) if inspect.iscoroutine(result) else _found(result)

        return call


async def _awaited(coroutine):
    token = _inside.set(True)
    try:
        result = await coroutine
    finally:
        _inside.reset(token)
    return _found(result)


def _found(value):
    """What methods give has methods too."""
    if isinstance(value, list):
        for one in value[:5]:
            _found(one)
    elif type(value).__module__.startswith("e2b") and type(value) not in _seen:
        _watch_type(type(value))
        for name in dir(type(value)):
            if not name.startswith("_") and isinstance(inspect.getattr_static(type(value), name), property):
                _watch_type(type(getattr(value, name)))
    return value
