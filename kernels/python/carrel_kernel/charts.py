"""What a figure shows and a table holds, as data besides their pictures: for programs that draw them anew.

A chart is a dict with its type (line, scatter, bar, pie, box_and_whisker, superchart, unknown), title, axes and elements. Nothing
here may make a cell fail: what cannot be read is an unknown chart.
"""

import datetime
import re

CHART = "application/vnd.carrel.chart+json"
DATA = "application/vnd.carrel.data+json"
MAX_POINTS = 10_000
MAX_CELLS = 100_000
UNIT = re.compile(r"\s*\(([^()]+)\)\s*$")


def parts(figure):
    """The chart of a figure as a part of its bundle; none when it shows nothing."""
    try:
        axes = [one for one in figure.axes if one.has_data()]
        charts = [chart(one) for one in axes]
    except Exception:
        return []
    if not charts:
        return []
    if len(charts) == 1:
        return [(CHART, charts[0])]
    title = figure._suptitle.get_text() if getattr(figure, "_suptitle", None) is not None else None
    return [(CHART, {"type": "superchart", "title": title, "elements": charts})]


def table(frame):
    """The columns of a DataFrame as a part of its bundle; none when there are too many cells."""
    try:
        if frame.shape[0] * frame.shape[1] > MAX_CELLS:
            return []
        return [(DATA, {str(name): [_plain(value) for value in frame[name].tolist()] for name in frame.columns})]
    except Exception:
        return []


def chart(axes):
    title = axes.get_title() or None
    for kind, elements in (("pie", _pie(axes)), ("box_and_whisker", _boxes(axes)), ("bar", _bars(axes))):
        if elements:
            return _titled(axes, kind, title, elements)
    lines = [_points(line, line.get_xydata()) for line in axes.get_lines()]
    if lines:
        return _scaled(axes, _titled(axes, "line", title, lines))
    clouds = [_points(one, one.get_offsets()) for one in axes.collections if type(one).__name__ == "PathCollection"]
    if clouds:
        return _scaled(axes, _titled(axes, "scatter", title, clouds))
    return {"type": "unknown", "title": title, "elements": []}


def _titled(axes, kind, title, elements):
    found = {"type": kind, "title": title, "elements": elements}
    if kind != "pie":
        for name, label in (("x", axes.get_xlabel()), ("y", axes.get_ylabel())):
            unit = UNIT.search(label)
            found[name + "_label"] = UNIT.sub("", label) or None
            found[name + "_unit"] = unit.group(1) if unit else None
    return found


def _scaled(axes, found):
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        found[name + "_ticks"] = [_plain(value) for value in axis.get_ticklocs()]
        found[name + "_tick_labels"] = [text.get_text() for text in axis.get_ticklabels()]
        found[name + "_scale"] = axis.get_scale()
    return found


def _points(artist, pairs):
    label = str(artist.get_label())
    return {
        "label": "" if label.startswith("_") else label,
        "points": [[_plain(x), _plain(y)] for x, y in pairs[:MAX_POINTS].tolist()],
    }


def _bars(axes):
    found = []
    labels = [text.get_text() for text in axes.get_xticklabels()]
    ticks = [float(value) for value in axes.get_xticks()]
    for container in axes.containers:
        if type(container).__name__ != "BarContainer":
            continue
        group = str(container.get_label())
        for bar in container.patches[:MAX_POINTS]:
            middle = bar.get_x() + bar.get_width() / 2
            near = [label for tick, label in zip(ticks, labels) if abs(tick - middle) <= bar.get_width() / 2]
            found.append(
                {
                    "label": near[0] if near and near[0] else str(_plain(middle)),
                    "group": "" if group.startswith("_") else group,
                    "value": _plain(bar.get_height()),
                }
            )
    return found


def _pie(axes):
    wedges = [patch for patch in axes.patches if type(patch).__name__ == "Wedge"]
    return [
        {"label": wedge.get_label(), "angle": abs(wedge.theta2 - wedge.theta1), "radius": wedge.r} for wedge in wedges
    ]


def _boxes(axes):
    """A box is five lines or a patch with four; boxplot() leaves no other trace of what it drew."""
    lines = axes.get_lines()
    closed = [line for line in lines if len(line.get_xdata()) == 5 and line.get_xdata()[0] == line.get_xdata()[-1]]
    if not closed:
        return []
    labels = [text.get_text() for text in axes.get_xticklabels()]
    found = []
    for index, box in enumerate(closed):
        low, high = min(box.get_ydata()), max(box.get_ydata())
        left, right = min(box.get_xdata()), max(box.get_xdata())
        inside = [line for line in lines if line is not box and _between(line, left, right)]
        medians = [line for line in inside if len(line.get_xdata()) == 2 and low <= line.get_ydata()[0] == line.get_ydata()[1] <= high
                   and max(line.get_xdata()) - min(line.get_xdata()) >= (right - left) * 0.9]
        marks = [line for line in inside if line.get_linestyle() in ("None", "none", "")]
        ends = [y for line in inside if line not in marks for y in line.get_ydata()] or [low, high]
        found.append(
            {
                "label": labels[index] if index < len(labels) and labels[index] else str(index + 1),
                "min": _plain(min(ends)),
                "first_quartile": _plain(low),
                "median": _plain(medians[0].get_ydata()[0] if medians else (low + high) / 2),
                "third_quartile": _plain(high),
                "max": _plain(max(ends)),
                "outliers": [_plain(y) for line in marks for y in list(line.get_ydata())[:MAX_POINTS]],
            }
        )
    return found


def _between(line, left, right):
    values = list(line.get_xdata())
    return bool(values) and all(left <= x <= right for x in values)


def _plain(value):
    """Something that JSON has."""
    item = getattr(value, "item", None)
    if callable(item):
        value = item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    return str(value)
