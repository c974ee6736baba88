"""Looks at Python code on standard input without running it; one finding a line, with tabs."""
import ast
import builtins
import sys

RULES = {
    "os.system": ("critical", "runs a shell command"),
    "eval": ("critical", "evaluates text as code"),
    "exec": ("critical", "runs text as code"),
    "__import__": ("high", "imports by a computed name"),
    "pickle.loads": ("high", "unpickling runs what the data says"),
    "pickle.load": ("high", "unpickling runs what the data says"),
    "shutil.rmtree": ("medium", "removes a whole folder"),
    "socket.socket": ("medium", "opens a socket"),
}
ALIASES = {
    "np": "import numpy as np",
    "pd": "import pandas as pd",
    "plt": "import matplotlib.pyplot as plt",
    "sns": "import seaborn as sns",
    "tf": "import tensorflow as tf",
}
MODULES = set(
    "argparse array ast asyncio base64 bisect calendar collections contextlib copy csv dataclasses"
    " datetime decimal enum fractions functools glob gzip hashlib heapq hmac html http importlib"
    " inspect io itertools json logging math matplotlib numpy operator os pandas pathlib pickle"
    " platform pprint queue random re requests secrets select shlex shutil signal socket sqlite3"
    " statistics string struct subprocess sys tarfile tempfile textwrap threading time traceback"
    " types typing unittest urllib uuid warnings xml zipfile zlib".split()
)


def tell(*parts):
    print("\t".join(str(part).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n") for part in parts))


class Names(ast.NodeVisitor):
    def __init__(self):
        self.bound = set(dir(builtins)) | {"__file__", "__name__", "get_ipython", "display"}
        self.bases = {}
        self.origin = {}
        self.calls = []

    def visit_Import(self, node):
        for alias in node.names:
            self.bound.add((alias.asname or alias.name).split(".")[0])
            self.origin[alias.asname or alias.name.split(".")[0]] = alias.name if alias.asname else alias.name.split(".")[0]
            if alias.name.split(".")[0] == "ctypes":
                tell("danger", "ctypes", "medium", node.lineno, node.col_offset + 1, "reaches past the interpreter")

    def visit_ImportFrom(self, node):
        for alias in node.names:
            self.bound.add(alias.asname or alias.name)
            self.origin[alias.asname or alias.name] = (node.module or "") + "." + alias.name
        if (node.module or "").split(".")[0] == "ctypes":
            tell("danger", "ctypes", "medium", node.lineno, node.col_offset + 1, "reaches past the interpreter")

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load):
            self.bases.setdefault(node.id, node.lineno)
        else:
            self.bound.add(node.id)

    def define(self, node):
        self.bound.add(node.name)
        self.generic_visit(node)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = define

    def visit_arg(self, node):
        self.bound.add(node.arg)
        self.generic_visit(node)

    def visit_ExceptHandler(self, node):
        if node.name:
            self.bound.add(node.name)
        self.generic_visit(node)

    def visit_Call(self, node):
        self.calls.append(node)
        self.generic_visit(node)

    def dotted(self, node):
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        parts.append(self.origin.get(node.id, node.id))
        return ".".join(reversed(parts))


def dangers(names):
    for call in names.calls:
        name = names.dotted(call.func)
        if name.startswith("builtins."):
            name = name[len("builtins."):]
        if name in RULES:
            severity, why = RULES[name]
            tell("danger", name, severity, call.lineno, call.col_offset + 1, why)
        shell = any(
            key.arg == "shell" and not (isinstance(key.value, ast.Constant) and not key.value.value)
            for key in call.keywords
        )
        if name.startswith("subprocess.") and shell:
            tell("danger", "subprocess-shell", "high", call.lineno, call.col_offset + 1, "runs a line of shell")


def missing(names):
    for name in sorted(set(names.bases) - names.bound):
        if name in ALIASES:
            tell("import", names.bases[name], ALIASES[name])
        elif name in MODULES:
            tell("import", names.bases[name], "import " + name)


def main():
    code = sys.stdin.buffer.read()
    try:
        tree = compile(code, "code", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        tell("syntax", getattr(error, "lineno", 0) or 0, getattr(error, "offset", 0) or 0, getattr(error, "msg", None) or error)
        return
    names = Names()
    names.visit(tree)
    dangers(names)
    missing(names)
    after = 0
    for number, node in enumerate(tree.body):
        docstring = number == 0 and isinstance(node, ast.Expr) and isinstance(getattr(node, "value", None), ast.Constant) and isinstance(node.value.value, str)
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not docstring and not future:
            break
        after = node.end_lineno
    tell("end", after)


main()
