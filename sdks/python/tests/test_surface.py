"""The three SDKs name the same things: a method that one has and another lacks is in the list below, with the reason."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import carrel
from carrel._sync import client, files, operations, resources, sandbox, skills, transfers

SDKS = Path(__file__).parent.parent.parent
PYTHON = {
    name: kind
    for module in (client, sandbox, files, resources, operations, skills, transfers)
    for name, kind in inspect.getmembers(module, inspect.isclass)
    if kind.__module__ == module.__name__ and not name.startswith("_")
}

# Where the languages say one thing in different ways: the reason, by class and name.
DIFFERENT = {
    ("Carrel", "connect"): "Java's constructor",
    ("Carrel", "close"): "a client in JavaScript has nothing to close",
    ("Carrel", "request"): "in Java a call is typed or not there",
    ("Carrel", "setbudget"): "Java has one name for asking and setting",
    ("Sandbox", "setbudget"): "as above",
    ("Sandbox", "get"): "Java has it in Sandboxes alone",
    ("Files", "exists"): "Java has find, with the entry",
    ("Files", "find"): "as above",
    ("Files", "readall"): "Java's read is a stream",
    ("Files", "readstream"): "JavaScript's read is everything; what is a stream has a name of its own",
    ("Files", "readchunks"): "as above, in Python",
    ("Files", "readtext"): "Java makes strings of bytes itself",
    ("Files", "upload"): "write takes a stream in JavaScript",
    ("Files", "download"): "read is a stream in Java, and readStream in JavaScript",
    ("Secrets", "addbrokered"): "the option hosts of add elsewhere",
    ("Secrets", "addcanary"): "the option canary of add elsewhere",
    ("Approvals", "decide"): "Java has approve and deny",
    ("Approvals", "approve"): "decide elsewhere",
    ("Approvals", "deny"): "decide elsewhere",
    ("Approvals", "await"): "the option wait_seconds of get elsewhere",
    ("Approvals", "askegress"): "ask elsewhere",
    ("Audit", "export"): "for whole archives the command line is there, which is written in Java",
    ("Audit", "follow"): "as above",
}


def plain(names: set[str]) -> set[str]:
    return {name.replace("_", "").lower() for name in names}


def of_python(name: str) -> set[str]:
    source = inspect.getsource(PYTHON[name])
    made = re.findall(r"^        self\.([a-z]\w*)(?:: [^=]+)? = ", source, re.M)
    return plain({one for one in dir(PYTHON[name]) if not one.startswith("_")} | set(made))


def of_typescript(name: str) -> set[str]:
    text = "\n".join(path.read_text() for path in sorted((SDKS / "typescript/src").glob("*.ts")))
    body = re.search(rf"^export class {name}\b[^{{]*\{{\n(.*?)^\}}", text, re.M | re.S)
    assert body, f"no class {name} in TypeScript"
    shown = re.sub(r"  /\*\* @internal \*/\n.*\n", "", body[1])
    methods = re.findall(r"^  (?:static )?(?:async )?(?:get )?(\w+)(?:<[^>]*>)?\(", shown, re.M)
    return plain({*methods, *re.findall(r"^  readonly (\w+): ", shown, re.M)} - {"constructor"})


def of_java(name: str) -> set[str]:
    path = SDKS / f"java/src/main/java/dev/carrel/sdk/{name}.java"
    method = r"^  public (?:static )?(?:<[^>]+> )?(?!record|final|static|enum|interface)[\w.<>,\[\]?@ ]+? (\w+)\("
    return plain(set(re.findall(method, path.read_text(), re.M)))


@pytest.mark.parametrize("name", sorted(PYTHON))
def test_three_languages_name_the_same(name: str) -> None:
    have = {"Python": of_python(name), "TypeScript": of_typescript(name), "Java": of_java(name)}
    everything = set.union(*have.values())
    assert everything, name
    missing = {
        f"{language} lacks {one}"
        for language, names in have.items()
        for one in everything - names
        if (name, one) not in DIFFERENT
    }
    assert not missing


def test_the_list_of_differences_is_not_longer_than_they_are() -> None:
    for name, one in DIFFERENT:
        having = [one in of(name) for of in (of_python, of_typescript, of_java)]
        assert any(having) and not all(having), f"{name} {one}: take it off the list"


def test_every_class_of_the_surface_is_compared() -> None:
    assert {"Carrel", "Sandboxes", "Sandbox", "Files", "Contexts", "Egress", "Transfers", "Images", "Keys", "Settings"} <= set(PYTHON)
    assert carrel.Carrel is PYTHON["Carrel"]
