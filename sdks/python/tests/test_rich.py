"""What notebooks show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from carrel import DisplayOutput, Sandbox

NOTEBOOK = Path(__file__).parent.parent / "examples/notebook.ipynb"
FIGURE = "import matplotlib.pyplot as plt; _ = plt.plot([1, 2]); plt.show()"


def shown(result: Any) -> dict[str, Any]:
    """As IPython would send it to a notebook."""
    bundle, _ = InteractiveShell.instance().display_formatter.format(result)
    return dict(bundle)


def test_a_value_is_shown_in_its_own_types(sandbox: Sandbox) -> None:
    assert shown(sandbox.run_code("6 * 7"))["text/plain"] == "42"
    table = shown(sandbox.run_code("import pandas; pandas.DataFrame({'a': [1]})"))
    assert "<table" in table["text/html"] and "a" in table["text/plain"]


def test_a_figure_is_an_image(sandbox: Sandbox) -> None:
    result = sandbox.run_code(FIGURE)
    assert shown(result)["image/png"].startswith("iVBOR")
    assert shown(result.display_outputs[0])["image/png"].startswith("iVBOR")


def test_several_outputs_are_one_page(sandbox: Sandbox) -> None:
    page = shown(sandbox.run_code(f"print('<b>'); {FIGURE}; 7"))
    html = page["text/html"]
    assert html.index("<pre>&lt;b&gt;") < html.index("data:image/png;base64,iVBOR") < html.index("<pre>7</pre>")
    assert page["text/plain"] == "<b>\n\n7"


def test_json_is_a_value_and_a_failure_its_traceback(sandbox: Sandbox) -> None:
    assert shown(DisplayOutput("application/vnd.test+json", '{"a": [1]}'))["application/vnd.test+json"] == {"a": [1]}
    assert "ZeroDivisionError" in shown(sandbox.run_code("1/0"))["text/plain"]
    assert shown(sandbox.run_code("x = 1"))["text/plain"] == ""


def test_the_notebook_runs_from_top_to_bottom() -> None:
    shell = InteractiveShell.instance()
    outputs: list[dict[str, Any]] = []
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] == "code":
            with capture_output():
                ran = shell.run_cell("".join(cell["source"]), store_history=False)
            ran.raise_error()
            outputs += [shown(ran.result)] if ran.result is not None else []
    assert any("image/png" in output for output in outputs)
    assert any("text/html" in output for output in outputs)
