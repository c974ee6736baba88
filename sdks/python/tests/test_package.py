"""What is published: generated files, types, examples, versions."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import carrel

PYTHON = Path(__file__).parent.parent
SDKS = PYTHON.parent
ROOT = SDKS.parent


def command(*arguments: str, cwd: Path = PYTHON) -> str:
    ran = subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300, env=os.environ)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_generated_files_are_those_of_the_contract() -> None:
    stale = subprocess.run([sys.executable, str(SDKS / "generate.py"), "--check"], capture_output=True, text=True, timeout=60)
    assert stale.returncode == 0, f"{stale.stdout}{stale.stderr}run sdks/generate.py (it needs PyYAML) and commit what it writes"


def test_types_hold_strictly() -> None:
    assert "Success" in command("-m", "mypy", "--cache-dir", "build/mypy")


@pytest.mark.parametrize("example", ["hello.py", "many.py", "resume.py"])
def test_examples_run(example: str) -> None:
    said = command(str(PYTHON / "examples" / example))
    assert said == {
        "hello.py": "Linux\n6\n",
        "many.py": "5! = 120\n10! = 3628800\n15! = 1307674368000\n",
        "resume.py": "step 1\nstep 2\nstep 3\n3\n",
    }[example]


def readme_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", (PYTHON / "README.md").read_text(), re.S)


def test_the_readme_has_examples() -> None:
    assert len(readme_blocks()) >= 4


@pytest.mark.parametrize("block", readme_blocks())
def test_what_the_readme_shows_runs(block: str, tmp_path: Path) -> None:
    (tmp_path / "shown.py").write_text(block)
    said = command("shown.py", cwd=tmp_path)
    for expected in re.findall(r"print\(.*#\s*(\S.*)$", block, re.M):
        assert expected in said


def test_the_docs_examples_run(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/sdks.md").read_text(), re.S)
    assert blocks
    for block in blocks:
        (tmp_path / "shown.py").write_text(block)
        command("shown.py", cwd=tmp_path)


def test_versions_go_in_lockstep() -> None:
    def first(pattern: str, path: str) -> str:
        found = re.search(pattern, (ROOT / path).read_text(), re.M)
        assert found, path
        return found[1]

    versions = {
        "contract": first(r"^  version: (\S+)$", "spec/openapi.yaml"),
        "java": first(r"<artifactId>carrel</artifactId>\s*<version>([^<]+)", "sdks/java/pom.xml"),
        "server": first(r"<artifactId>carrel</artifactId>\s*<version>([^<]+)", "pom.xml"),
        "python project": first(r'^version = "([^"]+)"$', "sdks/python/pyproject.toml"),
        "python": carrel.__version__,
        "typescript package": json.loads((SDKS / "typescript/package.json").read_text())["version"],
        "typescript": first(r'VERSION = "([^"]+)"', "sdks/typescript/src/index.ts"),
    }
    assert len(set(versions.values())) == 1, versions
