import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { Carrel, CarrelError } from "@carrel/sdk";

const carrel = new Carrel();

function main(name: string, text: string): string {
  return `---\nname: ${name}\ndescription: Says hello.\nmetadata:\n  made_by: me\n---\n${text}\n`;
}

test("a skill is kept, installed and replaced", async () => {
  const name = `greet-${randomUUID().slice(0, 8)}`;
  const first = await carrel.skills.upload(`${name}.md`, main(name, "one"));
  try {
    assert.equal(first.version, 1);
    assert.deepEqual(first.skillMetadata.metadata, { made_by: "me" });
    assert.deepEqual(await carrel.skills.upload("again.md", main(name, "one")), first);
    assert.ok((await carrel.skills.list()).some((one) => one.name === name));
    assert.deepEqual(
      (await carrel.skills.get(name)).files.map((file) => file.path),
      ["SKILL.md"],
    );
    assert.equal(new TextDecoder().decode(await carrel.skills.read(first.id, "SKILL.md")), main(name, "one"));
    await using box = await carrel.sandboxes.create();
    const installed = await box.installSkills([name, "no-such-skill"]);
    assert.deepEqual(
      installed.installed.map((one) => one.path),
      [`/workspace/skills/${name}`],
    );
    assert.deepEqual(installed.notFound, ["no-such-skill"]);
    assert.equal((await box.installSkills([first.id])).alreadyInstalled[0]?.name, name);
    await carrel.skills.upload("next.md", main(name, "two"));
    assert.equal((await box.installSkills([name])).installed[0]?.version, 2);
    assert.match(await box.files.readText(`skills/${name}/SKILL.md`), /two/);
    assert.equal((await box.skills())[0]?.version, 2);
  } finally {
    await carrel.skills.delete(name);
  }
  await assert.rejects(carrel.skills.get(name), (failure: unknown) => failure instanceof CarrelError && failure.code === "skill_not_found");
});
