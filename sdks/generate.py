"""Writes what the Python and TypeScript SDKs take from spec/openapi.yaml, and Python's blocking surface from its async one.

    python sdks/generate.py            writes the files
    python sdks/generate.py --check    writes nothing; fails and names those that are stale

Needs PyYAML. Results become classes with a reader, optional fields of requests become option types, error codes become types.
Wire names stay in Python and become camelCase in TypeScript; maps (variables, metadata, MIME bundles) keep their keys.
"""

from __future__ import annotations

import keyword
import re
import sys
import textwrap
from functools import partial
from pathlib import Path
from typing import Any, Callable

import yaml

SDKS = Path(__file__).resolve().parent
PYTHON = SDKS / "python/src/carrel"
HEADER = "Written by sdks/generate.py from spec/openapi.yaml. Change the contract or the generator, not this file."

# The same names in all SDKs; what is not here keeps its name of the contract.
RENAMED = {
    "Activity": "ActivityInfo",
    "ApiKey": "KeyInfo",
    "Approval": "ApprovalInfo",
    "Artifact": "ArtifactInfo",
    "Budget": "BudgetInfo",
    "Context": "ContextInfo",
    "Egress": "EgressInfo",
    "Engine": "EngineInfo",
    "Exec": "ExecInfo",
    "Image": "ImageInfo",
    "Pool": "PoolInfo",
    "Queue": "QueueStatus",
    "Sandbox": "SandboxInfo",
    "Secret": "SecretInfo",
    "Skill": "SkillInfo",
    "Snapshot": "SnapshotInfo",
    "Usage": "SandboxUsage",
    "Volume": "VolumeInfo",
}
# Requests whose optional fields callers give by name. What is required is a parameter of its own.
OPTIONS = {
    "AskApproval": "ApprovalOptions",
    "ApprovalDecision": "DecisionOptions",
    "AddSecret": "SecretOptions",
    "BridgeData": "BridgeOptions",
    "CodeRequest": "CodeOptions",
    "CreateContext": "ContextOptions",
    "CreateKey": "KeyOptions",
    "CreateSandbox": "SandboxOptions",
    "CreateVolume": "VolumeOptions",
    "ExecRequest": "ExecOptions",
    "GlobRequest": "GlobOptions",
    "GrepRequest": "GrepOptions",
    "HostExec": "HostOptions",
    "ImportFile": "ImportSource",
    "SandboxSettingsChange": "SettingsChanges",
    "OpenTerminal": "TerminalOptions",
    "SetBudget": "BudgetLimits",
    "UpdateSandbox": "SandboxChanges",
    "ValidateRequest": "ValidateOptions",
}
# Sent by methods that name every field themselves.
UNNAMED = {
    "BulkRequest", "CreateSnapshot", "ExportFiles", "HostPath", "ImportFiles", "InstallSkills", "LinkPort", "LinkTerminal",
    "MkdirRequest", "MoveRequest", "RestoreSandbox", "RotateSecret", "SignArtifacts", "SignalRequest", "StatRequest", "StdinRequest",
}  # fmt: skip
# Fields that a method of its own stands for.
METHODS = {"ExecRequest": {"background"}}
# Given as well as received.
BOTH_WAYS = {"ImageLock", "InstallPackages", "NetworkPolicy", "TerminalSize"}
# Hand-written behaviour that a generated class inherits in Python.
MIXINS = {"CodeResult": "RichResult", "DisplayOutput": "RichDisplay"}


class Contract:
    def __init__(self, text: str) -> None:
        self.schemas: dict[str, Any] = yaml.safe_load(text)["components"]["schemas"]

    def enums(self) -> dict[str, list[str]]:
        named = {n: s["enum"] for n, s in self.schemas.items() if "enum" in s}
        named["ErrorCode"] = self.schemas["Problem"]["properties"]["code"]["enum"]
        return dict(sorted(named.items()))

    def results(self) -> dict[str, Any]:
        return {
            name: schema
            for name, schema in sorted(self.schemas.items())
            if "properties" in schema and name not in OPTIONS and name not in UNNAMED
        }

    def options(self) -> dict[str, Any]:
        """Without the fields that are required: a name of the contract and its optional fields."""
        chosen = {}
        for name in sorted(OPTIONS):
            schema = self.schemas[name]
            left_out = {*schema.get("required", []), *METHODS.get(name, ())}
            chosen[name] = {f: k for f, k in schema["properties"].items() if f not in left_out}
        return chosen

    def target(self, schema: dict[str, Any]) -> str | None:
        return schema["$ref"].rsplit("/", 1)[1] if "$ref" in schema else None

    def nullable(self, schema: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """The schema without its null, and whether it had one."""
        if isinstance(schema.get("type"), list) and "null" in schema["type"]:
            rest = {**schema, "type": [t for t in schema["type"] if t != "null"][0]}
            if "enum" in rest:
                rest["enum"] = [v for v in rest["enum"] if v is not None]
            return rest, True
        choices = schema.get("oneOf", [])
        if {"type": "null"} in choices:
            return [c for c in choices if c != {"type": "null"}][0], True
        return schema, False


def name_of(schema: str) -> str:
    return OPTIONS.get(schema, RENAMED.get(schema, schema))


def sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text[-1] in ".!?:" else text + "."


# --- Python ---------------------------------------------------------------------------------------------------------------------


class Python:
    def __init__(self, contract: Contract) -> None:
        self.contract = contract

    def types(self) -> str:
        out = [f'"""{HEADER}"""', "", "from __future__ import annotations", ""]
        out += ["from collections.abc import Mapping, Sequence", "from dataclasses import dataclass, field"]
        out += ["from datetime import datetime", "from typing import Any, Literal, TypedDict, Union", ""]
        out += ["from .._rich import RichDisplay, RichResult", "from .._wire import Self, optional, time", ""]
        names = [name_of(n) for n in (*self.contract.enums(), *self.contract.results(), *self.contract.options())]
        out += self.exported(names)
        for name, values in self.contract.enums().items():
            out += [f"{name} = Literal[", *[f'    "{v}",' for v in values], "]"]
        for name, schema in self.contract.results().items():
            out += ["", "", *self.result(name, schema)]
        for name, fields in self.contract.options().items():
            out += ["", "", *self.option(name, fields)]
        return "\n".join(out) + "\n"

    def result(self, name: str, schema: dict[str, Any]) -> list[str]:
        required = schema.get("required", [])
        both = name in BOTH_WAYS
        base = f"({MIXINS[name]})" if name in MIXINS else ""
        out = ["@dataclass(frozen=True)", f"class {name_of(name)}{base}:"]
        out += self.docstring(schema.get("description"), f"`{name}` of the contract.")
        fields = sorted(schema["properties"].items(), key=lambda f: f[0] not in required)
        for field, kind in fields:
            hint = self.hint(kind)
            absent = self.absent(kind) if both else "None"
            if field not in required and absent == "None" and not hint.endswith("None"):
                hint += " | None"
            out.append(f"    {self.safe(field)}: {hint}" + ("" if field in required else f" = {absent}"))
            if "description" in kind:
                out.append(f'    """{sentence(kind["description"])}"""')
        out += ["", "    @classmethod", "    def from_wire(cls, wire: Mapping[str, Any]) -> Self:", "        return cls("]
        for field, kind in fields:
            value = f'wire["{field}"]' if field in required or both else f'wire.get("{field}")'
            out.append(f"            {self.safe(field)}={self.read(kind, value, field not in required and not both)},")
        out.append("        )")
        if both:
            out += ["", "    def to_wire(self) -> dict[str, Any]:", "        return {"]
            out += [f'            "{f}": {self.write(k, f)},' for f, k in fields] + ["        }"]
        return out

    def option(self, name: str, fields: dict[str, Any]) -> list[str]:
        out = [f"class {name_of(name)}(TypedDict, total=False):"]
        out += self.docstring(None, f"What `{name}` of the contract takes besides what it requires.")
        for field, kind in fields.items():
            out.append(f"    {field}: {self.hint(kind, given=True)}")
            if "description" in kind:
                out.append(f'    """{sentence(kind["description"])}"""')
        return out

    def exported(self, names: list[str]) -> list[str]:
        return ["__all__ = [", *[f'    "{name}",' for name in sorted(names)], "]", ""]

    def docstring(self, text: str | None, otherwise: str) -> list[str]:
        return textwrap.wrap(f'"""{sentence(text or otherwise)}"""', 120, initial_indent="    ", subsequent_indent="    ")

    def hint(self, schema: dict[str, Any], given: bool = False) -> str:
        schema, null = self.contract.nullable(schema)
        return self.plain(schema, given) + (" | None" if null else "")

    def plain(self, schema: dict[str, Any], given: bool) -> str:
        target = self.contract.target(schema)
        if target is not None:
            whole = self.contract.schemas[target]
            return name_of(target) if "properties" in whole or "enum" in whole else self.plain(whole, given)
        if "oneOf" in schema:
            return "Union[" + ", ".join(self.plain(c, given) for c in schema["oneOf"]) + "]"
        if "enum" in schema:
            return "Literal[" + ", ".join(f'"{v}"' for v in schema["enum"]) + "]"
        kind = schema.get("type")
        if kind == "array":
            return f"{'Sequence' if given else 'list'}[{self.plain(schema['items'], given)}]"
        if kind == "object":
            values = schema.get("additionalProperties")
            inner = self.plain(values, given) if isinstance(values, dict) else "Any"
            return f"{'Mapping' if given else 'dict'}[str, {inner}]"
        if schema.get("format") == "date-time":
            return "datetime"
        if kind is None:
            return "Any"
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}[schema["type"]]

    def absent(self, schema: dict[str, Any]) -> str:
        if schema.get("type") == "array":
            return "field(default_factory=list)"
        return repr(schema["default"]).replace("'", '"') if "default" in schema else "None"

    def read(self, schema: dict[str, Any], value: str, maybe: bool) -> str:
        schema, null = self.contract.nullable(schema)
        reader = self.reader(schema)
        if reader is None:
            return value
        return f"optional({reader}, {value})" if null or maybe else f"{reader}({value})"

    def reader(self, schema: dict[str, Any]) -> str | None:
        target = self.contract.target(schema)
        if target is not None:
            whole = self.contract.schemas[target]
            return f"{name_of(target)}.from_wire" if "properties" in whole else self.reader(whole)
        if schema.get("type") == "array":
            inner = self.reader(schema["items"])
            return f"(lambda items: [{inner}(item) for item in items])" if inner else None
        return "time" if schema.get("format") == "date-time" else None

    def write(self, schema: dict[str, Any], field: str) -> str:
        return f"list(self.{field})" if schema.get("type") == "array" else f"self.{field}"

    def safe(self, field: str) -> str:
        return field + "_" if keyword.iskeyword(field) else field

    def errors(self) -> str:
        codes = self.contract.enums()["ErrorCode"]
        out = [f'"""{HEADER}', "", "An exception for each code of an error. Catch `CarrelError` for all of them.", '"""', ""]
        out += ["from .._errors import CarrelError", ""]
        names = {code: "".join(part.title() for part in code.split("_")) for code in codes}
        out += self.exported(list(names.values()))
        for code, name in names.items():
            out += ["", f"class {name}(CarrelError):", f'    """The code `{code}`."""', ""]
        out += ["", "BY_CODE: dict[str, type[CarrelError]] = {"]
        out += [f'    "{code}": {name},' for code, name in names.items()] + ["}"]
        return "\n".join(out) + "\n"


# What the blocking surface says in place of what the asynchronous one says, in this order.
BLOCKING = [
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\b__a(enter|exit|iter|next)__\b", r"__\1__"),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\ba(close|read|iter_bytes)\b", r"\1"),
    (r"\banext\(", "next("),
    (r"\bAsync(\w+)", r"\1"),
]


def blocking_file(source: Path) -> str:
    text = source.read_text()
    for pattern, replacement in BLOCKING:
        text = re.sub(pattern, replacement, text)
    head, rest = text.split("\n", 1)
    return f"# Written by sdks/generate.py from the file of this name in _async. Change that one.\n{head}\n{rest}"


# --- TypeScript -----------------------------------------------------------------------------------------------------------------


class TypeScript:
    def __init__(self, contract: Contract) -> None:
        self.contract = contract

    def types(self) -> str:
        out = [f"// {HEADER}", "", "type Wire = Record<string, any>;", ""]
        out += ["const time = (text: string): Date => new Date(text);"]
        out += ["const optional = <W, T>(read: (wire: W) => T, wire: W | null | undefined): T | null =>"]
        out += ["  wire === null || wire === undefined ? null : read(wire);"]
        for name, values in self.contract.enums().items():
            out += ["", f"export type {name} =", *[f'  | "{v}"' for v in values]]
            out[-1] += ";"
        for name, schema in self.contract.results().items():
            out += ["", *self.result(name, schema)]
        for name, fields in self.contract.options().items():
            out += ["", *self.option(name, fields)]
        return "\n".join(out) + "\n"

    def result(self, name: str, schema: dict[str, Any]) -> list[str]:
        required, title = schema.get("required", []), name_of(name)
        both = name in BOTH_WAYS
        out = [f"/** {sentence(schema.get('description', f'`{name}` of the contract'))} */", f"export interface {title} {{"]
        for field, kind in schema["properties"].items():
            hint = self.hint(kind)
            if field not in required and not both and not hint.endswith("null"):
                hint += " | null"
            out += self.property(field, kind, hint, both and field not in required)
        out += ["}", "", f"export const read{title} = (wire: Wire): {title} => ({{"]
        for field, kind in schema["properties"].items():
            out.append(f"  {self.camel(field)}: {self.read(kind, f'wire.{field}', field not in required and not both)},")
        out.append("});")
        if both:
            out += ["", *self.writer(title, schema["properties"])]
        return out

    def option(self, name: str, fields: dict[str, Any]) -> list[str]:
        title = name_of(name)
        out = [f"/** What `{name}` of the contract takes besides what it requires. */", f"export interface {title} {{"]
        for field, kind in fields.items():
            out += self.property(field, kind, self.hint(kind), True)
        return [*out, "}", "", *self.writer(title, fields)]

    def property(self, field: str, kind: dict[str, Any], hint: str, left_out: bool) -> list[str]:
        line = f"  {self.camel(field)}{'?' if left_out else ''}: {hint}{' | undefined' if left_out else ''};"
        note = [f"  /** {sentence(kind['description'])} */"] if "description" in kind else []
        return [*note, line]

    def writer(self, title: str, fields: dict[str, Any]) -> list[str]:
        out = [f"export const write{title} = (given: {title}): Wire => ({{"]
        for field, kind in fields.items():
            target, value = self.contract.target(kind), f"given.{self.camel(field)}"
            if target in BOTH_WAYS:
                value = f"{value} && write{name_of(target)}({value})"
            out.append(f"  {field}: {value},")
        return [*out, "});"]

    def hint(self, schema: dict[str, Any]) -> str:
        schema, null = self.contract.nullable(schema)
        return self.plain(schema) + (" | null" if null else "")

    def plain(self, schema: dict[str, Any]) -> str:
        target = self.contract.target(schema)
        if target is not None:
            whole = self.contract.schemas[target]
            return name_of(target) if "properties" in whole or "enum" in whole else self.plain(whole)
        if "oneOf" in schema:
            return " | ".join(self.plain(c) for c in schema["oneOf"])
        if "enum" in schema:
            return " | ".join(f'"{v}"' for v in schema["enum"])
        kind = schema.get("type")
        if kind == "array":
            inner = self.plain(schema["items"])
            return f"({inner})[]" if " " in inner else f"{inner}[]"
        if kind == "object":
            values = schema.get("additionalProperties")
            return f"Record<string, {self.plain(values) if isinstance(values, dict) else 'unknown'}>"
        if schema.get("format") == "date-time":
            return "Date"
        if kind is None:
            return "unknown"
        return {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}[schema["type"]]

    def read(self, schema: dict[str, Any], value: str, maybe: bool) -> str:
        schema, null = self.contract.nullable(schema)
        reader = self.reader(schema)
        if reader is None:
            return f"{value} ?? null" if maybe else value
        return f"optional({reader}, {value})" if null or maybe else f"{reader}({value})"

    def reader(self, schema: dict[str, Any]) -> str | None:
        target = self.contract.target(schema)
        if target is not None:
            whole = self.contract.schemas[target]
            return f"read{name_of(target)}" if "properties" in whole else self.reader(whole)
        if schema.get("type") == "array":
            inner = self.reader(schema["items"])
            return f"((items: Wire[]) => items.map({inner}))" if inner else None
        return "time" if schema.get("format") == "date-time" else None

    def camel(self, field: str) -> str:
        return re.sub(r"_([a-z0-9])", lambda m: m.group(1).upper(), field)


def files() -> dict[Path, Callable[[], str]]:
    contract = Contract((SDKS.parent / "spec/openapi.yaml").read_text())
    written: dict[Path, Callable[[], str]] = {
        PYTHON / "generated/types.py": Python(contract).types,
        PYTHON / "generated/errors.py": Python(contract).errors,
        SDKS / "typescript/src/generated/types.ts": TypeScript(contract).types,
    }
    for source in sorted((PYTHON / "_async").glob("*.py")):
        # What waits in a way of its own is written by hand on both sides.
        if source.name != "platform.py":
            written[PYTHON / "_sync" / source.name] = partial(blocking_file, source)
    return written


def main(arguments: list[str]) -> int:
    stale = []
    for path, text in files().items():
        wanted = text()
        if not path.exists() or path.read_text() != wanted:
            stale.append(path)
            if "--check" not in arguments:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(wanted)
    for path in stale:
        print(("stale: " if "--check" in arguments else "written: ") + str(path.relative_to(SDKS)))
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
