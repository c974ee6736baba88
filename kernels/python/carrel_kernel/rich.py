"""Values as mime bundles: text for everything, and the rich forms that Jupyter's objects offer.

A bundle is a list of (mime, bytes), text/plain first. Nothing here trusts a value: any method of it may fail, lie about its
type or return a gigabyte.
"""

import sys

from . import session

MAX_TEXT = 1 << 20
MAX_ITEMS = 100_000
MAX_PART = 16 << 20
MAX_BUNDLE = 48 << 20  # a frame has at most 64 MiB
DPI = 100

METHODS = (
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_latex_", "text/latex"),
    ("_repr_json_", "application/json"),
)
BUILTIN = (str, bytes, bytearray, list, tuple, dict, set, frozenset)
BINARY = ("image/", "audio/", "video/", "application/pdf", "application/octet-stream")


# ---- text


def plain(value):
    """repr(value), bounded in time by the value's size and in length."""
    try:
        text = _short_repr(value) if _is_large(value) else repr(value)
    except KeyboardInterrupt:
        raise
    except BaseException as failure:
        return "<%s object: its repr failed with %s%s>" % (type(value).__name__, type(failure).__name__, _why(failure))
    if len(text) > MAX_TEXT:
        return "%s... [%d characters in all, the first %d shown]" % (text[:MAX_TEXT], len(text), MAX_TEXT)
    return text


def _why(failure):
    try:
        return ": " + str(failure)[:200]
    except Exception:
        return ""


def _is_large(value):
    """Whether a built-in container holds more than is worth printing; looks at no more than that."""
    budget = MAX_ITEMS
    stack = [value]
    seen = set()
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind not in BUILTIN or id(item) in seen:
            continue
        if kind in (str, bytes, bytearray):
            budget -= len(item) >> 3
        else:
            seen.add(id(item))
            budget -= len(item)
            if budget >= 0:
                stack.extend(item.values() if kind is dict else item)
        if budget < 0:
            return True
    return False


def _short_repr(value):
    import reprlib

    writer = reprlib.Repr()
    writer.maxlevel = 6
    writer.maxlist = writer.maxtuple = writer.maxset = writer.maxfrozenset = writer.maxdict = 200
    writer.maxstring = writer.maxother = 10_000
    kind = type(value)
    if kind in (bytes, bytearray):
        text = repr(value[:10_000]) + "..."
    else:
        text = writer.repr(value)
    return "%s  [%s of %d %s, shortened]" % (
        text,
        kind.__name__,
        len(value),
        "characters" if kind is str else "bytes" if kind in (bytes, bytearray) else "items",
    )


# ---- bundles


def bundle(value):
    """The bundle of a value: its text, then each rich form it has."""
    parts = [("text/plain", plain(value))]
    if type(value) not in BUILTIN and not isinstance(value, type):
        parts.extend(_rich_parts(value))
    return _encoded(parts)


def result(value):
    """The bundle of a cell's value. One that displays itself does so, and has only its text besides."""
    own = getattr(type(value), "_ipython_display_", None)
    if not callable(own) or isinstance(value, type) or _is_plotly(value):
        return bundle(value)
    own(value)
    return _encoded([("text/plain", plain(value))])


def _rich_parts(value):
    kind = type(value)
    if _is_plotly(value):
        html = _attempt(lambda: value.to_html(full_html=True, include_plotlyjs=True))
        return [("text/html", html)] if html else []
    if kind.__module__ == "matplotlib.figure" and hasattr(kind, "savefig"):
        # An open figure is shown after the cell; only a closed one would otherwise be lost.
        return [] if _is_open(value) else [("image/png", png(value))] + _charts().parts(value)
    # Looked up on the type: an object that answers to every name (a mock, an HTML tree) has no rich form by that.
    method = getattr(kind, "_repr_mimebundle_", None)
    if callable(method):
        found = _attempt(lambda: method(value, include=None, exclude=None))
        if isinstance(found, tuple) and found:
            found = found[0]
        if isinstance(found, dict):
            return [(mime, data) for mime, data in found.items() if mime != "text/plain"]
    parts = []
    for name, mime in METHODS:
        method = getattr(kind, name, None)
        if callable(method):
            data = _attempt(lambda: method(value))
            if isinstance(data, tuple) and data:
                data = data[0]
            if data is not None:
                parts.append((mime, data))
    if kind.__module__.startswith("pandas.") and kind.__name__ == "DataFrame":
        parts.extend(_charts().table(value))
    return parts


def _attempt(call):
    """A rich form that fails is left out: the text form is there. An interrupt is for the cell."""
    try:
        return call()
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def _encoded(parts):
    """Bytes for each part that has a usable form and fits, alone and with those before it; notes on those too large."""
    encoded, notes, total = [], [], 0
    for mime, data in parts:
        data = _bytes(mime, data) if isinstance(mime, str) else None
        if data is None:
            continue
        size = len(data) + 4 * len(mime) + 8  # at most, in its frame
        if len(data) > MAX_PART:
            notes.append("[%s left out: %d bytes, the limit is %d]" % (mime[:200], len(data), MAX_PART))
        elif total + size > MAX_BUNDLE:
            notes.append("[%s left out: %d bytes, the limit of all forms together is %d]" % (mime[:200], len(data), MAX_BUNDLE))
        else:
            encoded.append((mime, data))
            total += size
    if notes:
        note = "\n".join(notes)[:MAX_TEXT].encode("utf-8", "backslashreplace")
        text = b"\n".join([data for mime, data in encoded if mime == "text/plain"] + [note])
        encoded = [("text/plain", text)] + [part for part in encoded if part[0] != "text/plain"]
    return encoded


def _bytes(mime, data):
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    if isinstance(data, str):
        if mime.startswith(BINARY) and mime != "image/svg+xml":
            return _from_base64(data)
        return data.encode("utf-8", "backslashreplace")
    if mime == "application/json" or mime.endswith("+json"):
        import json

        return _attempt(lambda: json.dumps(data).encode())
    return None


def _from_base64(data):
    """Jupyter's objects may give binary forms as base64 text."""
    import binascii

    try:
        return binascii.a2b_base64(data.encode("ascii"))
    except ValueError:
        return None


# ---- display()


class Handle:
    """What display(…, display_id=True) returns. Outputs are a log here: an update is shown as one more."""

    def __init__(self, display_id):
        self.display_id = display_id

    def display(self, value, **options):
        display(value, **options)

    update = display


def display(*objects, include=None, exclude=None, raw=False, display_id=None, **_options):
    """Shows each object in its richest form, now."""
    for value in objects:
        if raw:
            publish_display_data(value)
            continue
        own = getattr(type(value), "_ipython_display_", None)
        if callable(own) and not _is_plotly(value):
            own(value)
            continue
        shown = [
            part
            for part in bundle(value)
            if (include is None or part[0] in include) and (exclude is None or part[0] not in exclude)
        ]
        session.display_event(shown)
        _close_shown(value)
    if display_id is not None:
        return Handle(str(id(objects)) if display_id is True else display_id)
    return None


def publish_display_data(data, metadata=None, source=None, **_options):
    """Shows a ready-made bundle, as IPython's function of this name."""
    parts = sorted(data.items(), key=lambda part: part[0] != "text/plain")
    session.display_event(_encoded(parts))


def show_plotly(figure, *_arguments, **_options):
    display(figure)


def _is_plotly(value):
    kind = type(value)
    return kind.__module__.startswith("plotly.") and hasattr(kind, "to_html") and hasattr(kind, "layout")


# ---- figures


def _charts():
    from . import charts

    return charts


def png(figure):
    import io

    target = io.BytesIO()
    figure.savefig(target, format="png", dpi=DPI, bbox_inches="tight")
    return target.getvalue()


def _is_open(figure):
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None:
        return False
    return any(manager.canvas.figure is figure for manager in helpers.Gcf.get_all_fig_managers())


def _close_shown(value):
    """A figure given to display() has been shown: it must not come a second time after the cell."""
    if type(value).__module__ == "matplotlib.figure" and _is_open(value):
        sys.modules["matplotlib.pyplot"].close(value)


def flush_figures():
    """Shows every open figure, in the order of creation, and closes all of them."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None or not helpers.Gcf.figs:
        return
    try:
        for manager in sorted(helpers.Gcf.get_all_fig_managers(), key=lambda open_figure: open_figure.num):
            figure = manager.canvas.figure
            shown = [("image/png", png(figure)), ("text/plain", plain(figure))]
            session.display_event(_encoded(shown + _charts().parts(figure)))
    finally:
        sys.modules["matplotlib.pyplot"].close("all")


def show_figures(*_arguments, **_options):
    """pyplot.show(): here and now, in order with the cell's other output."""
    flush_figures()
