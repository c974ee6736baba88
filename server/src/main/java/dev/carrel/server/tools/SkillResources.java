package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.files.MediaType;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.skill.Skill;
import dev.carrel.control.skill.Skills;
import dev.carrel.server.mcp.Call;
import dev.carrel.server.mcp.Content;
import dev.carrel.server.mcp.Extension;
import dev.carrel.server.mcp.ResourceSource;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Skills as things to read, a little at a time: the list says what each is for, its SKILL.md how it
 * is done, and the files beside that the rest. Their addresses and the two methods are those of the
 * protocol's extension for skills.
 */
final class SkillResources implements ResourceSource, Extension {
  private static final String ROOT = "skill://";
  private static final String MARKDOWN = "text/markdown";

  private final Skills skills;

  SkillResources(Skills skills) {
    this.skills = skills;
  }

  /** Where a file of a skill can be read. */
  static String uri(String skill, String path) {
    return ROOT + skill + "/" + ResourcePath.encoded(path);
  }

  @Override
  public List<About> list(Call call) {
    return skills.list(call.caller()).stream()
        .map(
            skill ->
                new About(
                    uri(skill.name(), Skill.MAIN), skill.name(), skill.description(), MARKDOWN))
        .toList();
  }

  @Override
  public List<Template> templates() {
    return List.of(
        new Template(ROOT + "{name}/" + Skill.MAIN, "skill", "How a skill is done", MARKDOWN),
        new Template(
            ROOT + "{name}/{+path}",
            "skill files",
            "A file of a skill; without a path, a list of them",
            null));
  }

  @Override
  public Optional<List<ObjectNode>> read(Call call, String uri) {
    if (!uri.startsWith(ROOT)) {
      return Optional.empty();
    }
    String rest = uri.substring(ROOT.length());
    int slash = rest.indexOf('/');
    String name = slash < 0 ? rest : rest.substring(0, slash);
    String path = slash < 0 ? "" : ResourcePath.decoded(rest.substring(slash + 1));
    try {
      return Optional.of(List.of(contents(call.caller(), uri, name, path)));
    } catch (SandboxException e) {
      if (e.code().kind() == ErrorCode.Kind.ABSENT) {
        return Optional.empty();
      }
      throw e;
    }
  }

  private ObjectNode contents(Caller caller, String uri, String name, String path) {
    if (path.isEmpty()) {
      String all =
          skills.files(caller, name).stream()
              .map(file -> uri(name, file.path()))
              .collect(Collectors.joining("\n"));
      return Content.textOf(uri, "text/uri-list", all);
    }
    byte[] bytes = skills.read(caller, name, path);
    String type = MediaType.bare(path);
    try {
      String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
      return Content.textOf(
          uri, type.equals("application/octet-stream") ? "text/plain" : type, text);
    } catch (CharacterCodingException binary) {
      return Content.blobOf(uri, type, Base64.getEncoder().encodeToString(bytes));
    }
  }

  @Override
  public List<String> complete(Call call, String template, String argument, String typed) {
    if (!template.startsWith(ROOT) || !argument.equals("name")) {
      return List.of();
    }
    return skills.list(call.caller()).stream()
        .map(Skill::name)
        .filter(name -> name.startsWith(typed))
        .toList();
  }

  @Override
  public String name() {
    return "io.modelcontextprotocol/skills";
  }

  @Override
  public Optional<ObjectNode> handle(String method, Call call) {
    return switch (method) {
      case "skills/list" ->
          Optional.of(
              call.page(
                  "skills",
                  skills.list(call.caller()).stream()
                      .map(skill -> entry(call.caller(), skill))
                      .toList()));
      case "skills/get" -> {
        ObjectNode result = Schemas.object();
        result.set("skill", entry(call.caller(), at(call.caller(), call.uri())));
        yield Optional.of(result);
      }
      default -> Optional.empty();
    };
  }

  private Skill at(Caller caller, String uri) {
    return skills.list(caller).stream()
        .filter(skill -> uri(skill.name(), Skill.MAIN).equals(uri))
        .findFirst()
        .orElseThrow(
            () ->
                SandboxException.invalid(
                    "uri", "is not that of the " + Skill.MAIN + " of a skill"));
  }

  private ObjectNode entry(Caller caller, Skill skill) {
    ObjectNode entry = Schemas.object().put("uri", uri(skill.name(), Skill.MAIN));
    entry.set("frontmatter", Schemas.of(skill.frontMatter()));
    var resources = entry.putArray("resources");
    skills
        .files(caller, skill.id().value())
        .forEach(
            file ->
                resources
                    .addObject()
                    .put("uri", uri(skill.name(), file.path()))
                    .put("digest", file.digest()));
    return entry;
  }
}
