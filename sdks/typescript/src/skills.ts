import type { Content } from "./files.js";
import { type SkillDetails, type SkillInfo, readSkillDetails, readSkillInfo } from "./generated/types.js";
import { type Transport, filePath, segment, whole } from "./transport.js";

/** Folders with instructions, kept for you and given to sandboxes by `installSkills`. */
export class Skills {
  private static readonly PATH = "/api/v1/skills";

  constructor(private readonly transport: Transport) {}

  /** By name, without their files. */
  async list(): Promise<SkillInfo[]> {
    return (await this.transport.get(Skills.PATH)).skills.map(readSkillInfo);
  }

  /** With its files; by its name or its id. */
  async get(skill: string): Promise<SkillDetails> {
    return readSkillDetails(await this.transport.get(this.one(skill)));
  }

  /** Keeps a skill, or its next version. The name says by its ending what it is: `.zip`, `.skill` or `.md`. */
  async upload(filename: string, content: Content): Promise<SkillInfo> {
    return readSkillInfo(
      await this.transport.json("POST", `${Skills.PATH}/upload`, {
        body: content as BodyInit,
        headers: { "Content-Type": "application/octet-stream" },
        query: { filename },
      }),
    );
  }

  /** The bytes of one of its files. */
  async read(skill: string, path: string): Promise<Uint8Array> {
    const response = await this.transport.open("GET", `${this.one(skill)}/files/${filePath(path)}`);
    return new Uint8Array(await whole(response, (r) => r.arrayBuffer()));
  }

  /** Sandboxes keep what they have of it. */
  async delete(skill: string): Promise<void> {
    await this.transport.json("DELETE", this.one(skill));
  }

  private one(skill: string): string {
    return `${Skills.PATH}/${segment(skill, "skill")}`;
  }
}
