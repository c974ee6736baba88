"""Skills, as one keeps them and gives them to sandboxes."""

import asyncio
import io
import uuid
import zipfile
from pathlib import Path

import pytest

import carrel as sdk
from carrel import AsyncCarrel, Carrel


def main(name: str, text: str) -> str:
    return f"---\nname: {name}\ndescription: Says hello.\nmetadata:\n  author: me\n---\n{text}\n"


def packed(name: str, text: str) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as file:
        file.writestr(f"{name}/SKILL.md", main(name, text))
        file.writestr(f"{name}/scripts/say.sh", "echo hello\n")
    return held.getvalue()


def test_a_skill_is_kept_installed_and_replaced(carrel: Carrel) -> None:
    name = f"greet-{uuid.uuid4().hex[:8]}"
    first = carrel.skills.upload(f"{name}.zip", packed(name, "one"))
    try:
        assert (first.version, first.source_type, first.skill_metadata["metadata"]) == (1, "zip", {"author": "me"})
        assert carrel.skills.upload("again.skill", packed(name, "one")) == first
        assert name in [one.name for one in carrel.skills.list()]
        assert [file.path for file in carrel.skills.get(name).files] == ["SKILL.md", "scripts/say.sh"]
        assert carrel.skills.read(first.id, "scripts/say.sh") == b"echo hello\n"
        with carrel.sandboxes.create() as box:
            installed = box.install_skills([name, "no-such-skill"])
            assert [one.path for one in installed.installed] == [f"/workspace/skills/{name}"]
            assert installed.not_found == ["no-such-skill"]
            assert box.exec(f"sh skills/{name}/scripts/say.sh").stdout == "hello\n"
            assert [one.name for one in box.install_skills([first.id]).already_installed] == [name]
            assert carrel.skills.upload("next.zip", packed(name, "two")).version == 2
            assert box.install_skills([name]).installed[0].version == 2
            assert [one.version for one in box.skills()] == [2]
            assert [one.name for one in box.refresh().info.skills] == [name]
    finally:
        carrel.skills.delete(name)
    with pytest.raises(sdk.SkillNotFound):
        carrel.skills.get(name)


def test_what_is_no_skill_is_refused(carrel: Carrel) -> None:
    with pytest.raises(sdk.InvalidInput):
        carrel.skills.upload("bad.md", b"# no front matter")


def test_a_file_is_uploaded_asynchronously(tmp_path: Path) -> None:
    name = f"note-{uuid.uuid4().hex[:8]}"
    file = tmp_path / f"{name}.md"
    file.write_text(main(name, "text"))

    async def upload() -> None:
        async with AsyncCarrel() as carrel:
            skill = await carrel.skills.upload(file)
            assert (skill.name, skill.source_type) == (name, "md")
            assert await carrel.skills.read(name, "SKILL.md") == file.read_bytes()
            await carrel.skills.delete(skill.id)

    asyncio.run(asyncio.wait_for(upload(), 120))
