package dev.carrel.control.skill;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLParser;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.yaml.snakeyaml.LoaderOptions;

/**
 * What a SKILL.md begins with: YAML between two lines of dashes. It comes from anybody: it is
 * small, flat, without aliases and without anything that one reader sees and another does not.
 *
 * @param json all of it, as an object
 */
record FrontMatter(String name, String description, String json) {
  private static final int MAX_NAME = 64;
  private static final int MAX_DESCRIPTION = 1024;
  private static final int MAX_DEPTH = 16;
  private static final Pattern NAME = Pattern.compile("[a-z0-9]+(-[a-z0-9]+)*");
  private static final Pattern FENCED =
      Pattern.compile(
          "\\A\\uFEFF?---[ \\t]*\\R(?<yaml>.*?)^---[ \\t]*$", Pattern.DOTALL | Pattern.MULTILINE);

  /** Where uploads go: the address of such a skill would be taken. */
  private static final String RESERVED = "upload";

  private static final YAMLMapper YAML = mapper();

  private static YAMLMapper mapper() {
    var options = new LoaderOptions();
    options.setCodePointLimit(Limits.MAX_FRONT_MATTER);
    options.setNestingDepthLimit(MAX_DEPTH);
    options.setAllowDuplicateKeys(false);
    YAMLFactory factory =
        YAMLFactory.builder()
            .loaderOptions(options)
            .streamReadConstraints(
                StreamReadConstraints.builder()
                    .maxNestingDepth(MAX_DEPTH)
                    .maxStringLength(Limits.MAX_FRONT_MATTER)
                    .maxNumberLength(100)
                    .build())
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();
    return YAMLMapper.builder(factory)
        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
        .build();
  }

  static FrontMatter of(byte[] main) {
    if (main.length > Limits.MAX_MAIN) {
      throw refused(
          "has more than " + Limits.MAX_MAIN + " bytes: put what is long in files beside it");
    }
    Matcher fenced = FENCED.matcher(decoded(main));
    if (!fenced.find()) {
      throw refused("does not begin with front matter between two lines of ---");
    }
    String yaml = String.valueOf(fenced.group("yaml"));
    if (yaml.length() > Limits.MAX_FRONT_MATTER) {
      throw refused("has front matter of more than " + Limits.MAX_FRONT_MATTER + " characters");
    }
    ObjectNode fields = parsed(yaml);
    String json = fields.toString();
    if (json.codePoints().anyMatch(c -> Character.getType(c) == Character.SURROGATE)) {
      throw refused("has front matter with half a character, which cannot be written as UTF-8");
    }
    return new FrontMatter(name(fields), description(fields), json);
  }

  private static String decoded(byte[] main) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(main)).toString();
    } catch (CharacterCodingException e) {
      throw refused("is not UTF-8");
    }
  }

  private static ObjectNode parsed(String yaml) {
    try {
      refuseAliases(yaml);
      if (YAML.readTree(yaml) instanceof ObjectNode fields) {
        return fields;
      }
      throw refused("has front matter that is no list of fields");
    } catch (JsonProcessingException e) {
      throw refused(
          "has front matter that is not YAML: " + Text.printable(e.getOriginalMessage(), 200));
    } catch (IOException e) {
      throw refused("has front matter that cannot be read");
    }
  }

  /** An alias would be read as the text of its name, and expanded by the next reader. */
  private static void refuseAliases(String yaml) throws IOException {
    try (YAMLParser parser = YAML.getFactory().createParser(yaml)) {
      while (parser.nextToken() != null) {
        if (parser.isCurrentAlias()) {
          throw refused("has front matter with aliases");
        }
      }
    }
  }

  private static String name(ObjectNode fields) {
    String name = text(fields, "name");
    if (name.length() > MAX_NAME || !NAME.matcher(name).matches()) {
      throw refused(
          "has the name '%s': must be 1 to %d of a-z and 0-9, with single hyphens between them"
              .formatted(Text.printable(name, MAX_NAME), MAX_NAME));
    }
    if (name.equals(RESERVED)) {
      throw refused("has the name '" + name + "', which is taken by the address of uploads");
    }
    return name;
  }

  private static String description(ObjectNode fields) {
    String description = text(fields, "description");
    if (description.isBlank()
        || description.codePointCount(0, description.length()) > MAX_DESCRIPTION) {
      throw refused("needs a description of 1 to " + MAX_DESCRIPTION + " characters");
    }
    if (hasHidden(description)) {
      throw refused("has a description with characters that nobody sees");
    }
    return description.strip();
  }

  private static String text(ObjectNode fields, String name) {
    JsonNode value = fields.path(name);
    if (!value.isTextual()) {
      throw refused("has no field '" + name + "' that is text");
    }
    return value.textValue();
  }

  /** Whether a person would see something else than a model does. */
  static boolean hasHidden(String text) {
    return text.codePoints().anyMatch(FrontMatter::isHidden);
  }

  private static boolean isHidden(int c) {
    boolean layout = c == '\n' || c == '\r' || c == '\t';
    // They join letters of some scripts, and parts of emoji.
    boolean joiner = c == 0x200c || c == 0x200d;
    return switch (Character.getType(c)) {
      case Character.CONTROL -> !layout;
      case Character.FORMAT -> !joiner;
      case Character.SURROGATE, Character.PRIVATE_USE, Character.UNASSIGNED -> true;
      default -> false;
    };
  }

  static SandboxException refused(String why) {
    return new SandboxException(
            ErrorCode.INVALID_INPUT, "the skill is refused: " + Skill.MAIN + " " + why)
        .withHint("see docs/skills.md for what a skill looks like");
  }
}
