package dev.carrel.control.skill;

/**
 * One file of a skill.
 *
 * @param path below the skill, without empty parts, {@code .} and {@code ..}
 * @param digest {@code sha256:} and hex of its bytes
 */
public record SkillFile(String path, long size, boolean executable, String digest) {}
