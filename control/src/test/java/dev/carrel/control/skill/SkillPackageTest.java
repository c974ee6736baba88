package dev.carrel.control.skill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.assertj.core.api.ThrowableAssertAlternative;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is taken for a skill, and what is refused whole. Cases F06 and F07. */
class SkillPackageTest {
  private static final String MAIN = Packed.main("pdf-tools", "Reads and fills PDF forms.");

  @TempDir private Path folder;

  @Test
  void aFileAloneIsASkill() throws IOException {
    SkillPackage skill = read("notes.md", MAIN);
    assertThat(skill.frontMatter().name()).isEqualTo("pdf-tools");
    assertThat(skill.frontMatter().description()).isEqualTo("Reads and fills PDF forms.");
    assertThat(skill.source()).isEqualTo(Skill.Source.MD);
    assertThat(skill.files()).containsOnlyKeys("SKILL.md");
  }

  @Test
  void aFolderAndWhatIsInItAreTheSameSkill() throws IOException {
    SkillPackage inside = read("a.zip", Packed.zip("SKILL.md", MAIN, "scripts/run.py", "1"));
    SkillPackage folder =
        read(
            "b.skill",
            Packed.zip(
                "__MACOSX/pdf-tools/._SKILL.md", "x",
                "pdf-tools/scripts/run.py", "1",
                "pdf-tools/.DS_Store", "x",
                "pdf-tools/SKILL.md", MAIN));
    assertThat(folder.files()).containsOnlyKeys("SKILL.md", "scripts/run.py");
    assertThat(folder.digest()).isEqualTo(inside.digest()).startsWith("sha256:");
    assertThat(read("c.zip", Packed.zip("SKILL.md", MAIN, "scripts/run.py", "2")).digest())
        .isNotEqualTo(inside.digest());
    assertThat(read("d.zip", Packed.zip("SKILL.md", MAIN, "scripts/other.py", "1")).digest())
        .isNotEqualTo(inside.digest());
  }

  @Test
  void allOfTheFrontMatterIsKept() throws IOException {
    SkillPackage skill =
        read(
            "a.md",
            "\uFEFF---\r\nname: a\r\ndescription: >\r\n  Two\r\n  lines\r\nlicense: MIT\r\n"
                + "metadata:\r\n  version: '1.0'\r\n---\r\nText");
    assertThat(skill.frontMatter().description()).isEqualTo("Two lines");
    assertThat(skill.frontMatter().json())
        .contains("\"license\":\"MIT\"", "\"metadata\":{\"version\":\"1.0\"}");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "# no front matter",
        "---\nname: a\ndescription: never closed\n",
        "---\n- a list\n---\n",
        "---\nname: a\n---\n",
        "---\ndescription: no name\n---\n",
        "---\nname: 12\ndescription: d\n---\n",
        "---\nname: A\ndescription: d\n---\n",
        "---\nname: ../../etc\ndescription: d\n---\n",
        "---\nname: a--b\ndescription: d\n---\n",
        "---\nname: -a\ndescription: d\n---\n",
        "---\nname: a/b\ndescription: d\n---\n",
        "---\nname: 'a\\0b'\ndescription: d\n---\n",
        "---\nname: \"a\\0b\"\ndescription: d\n---\n",
        "---\nname: upload\ndescription: d\n---\n",
        "---\nname: ａ\ndescription: d\n---\n",
        "---\nname: a\ndescription: '   '\n---\n",
        "---\nname: a\nname: b\ndescription: d\n---\n",
        "---\nname: a\ndescription: &d x\nother: *d\n---\n",
        "---\nname: a\ndescription: d\n...\nname: b\n---\n",
        "---\nname: a\ndescription: \"hidden \\u202E text\"\n---\n",
        "---\nname: a\ndescription: \"hidden \\U000E0041 text\"\n---\n",
        "---\nname: a\ndescription: \"bell \\a\"\n---\n",
        "---\nname: a\ndescription: [unclosed\n---\n",
      })
  void badFrontMatterIsRefused(String text) throws IOException {
    refused("a.md", text.getBytes(StandardCharsets.UTF_8)).withMessageContaining("SKILL.md");
  }

  @Test
  void frontMatterIsBounded() throws IOException {
    refused("a.md", Packed.main("a", "d".repeat(1025)).getBytes(StandardCharsets.UTF_8))
        .withMessageContaining("1024");
    refused("a.md", Packed.main("a".repeat(65), "d").getBytes(StandardCharsets.UTF_8))
        .withMessageContaining("64");
    refused("a.md", yaml("deep: " + "[".repeat(500) + "]".repeat(500)));
    refused("a.md", yaml("x: " + "y".repeat(70_000)));
    refused("a.md", yaml("a".repeat(1 << 20)));
    refused("a.md", new byte[] {'-', '-', '-', '\n', (byte) 0xff, (byte) 0xfe});
    refused("a.md", yaml("author: \"\\ud800\"")).withMessageContaining("half a character");
  }

  private static byte[] yaml(String more) {
    return ("---\nname: a\ndescription: d\n" + more + "\n---\n").getBytes(StandardCharsets.UTF_8);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "../evil",
        "/etc/passwd",
        "a/../../evil",
        "a\\b",
        "skill.MD",
        "a\nb",
        "a\u202Eb",
        "SKILL.md/x",
      })
  void namesThatTrickAreRefused(String name) throws IOException {
    refused("a.zip", Packed.zip("SKILL.md", MAIN, name, "x"));
  }

  @Test
  void linksAndDevicesAreRefused() throws IOException {
    byte[] zip = Packed.zip("SKILL.md", MAIN, "link", "/etc/passwd");
    assertThat(read("a.zip", zip).files()).hasSize(2);
    refused("a.zip", Packed.withLastEntry(zip, 0120777)).withMessageContaining("link");
    refused("a.zip", Packed.withLastEntry(zip, 0020666));
  }

  @Test
  void whatGrowsIsRefused() throws IOException {
    refused(ErrorCode.TOO_LARGE, "a.zip", Packed.zip("SKILL.md", MAIN, "b", "\0".repeat(12 << 20)))
        .withMessageContaining("times as large");
    refused(ErrorCode.TOO_LARGE, "a.zip", Packed.zip("SKILL.md", MAIN, "b", "\0".repeat(17 << 20)));
    var many = new String[2 * 1001];
    for (int i = 0; i < many.length; i += 2) {
      many[i] = "f" + i;
      many[i + 1] = "";
    }
    refused(ErrorCode.TOO_LARGE, "a.zip", Packed.zip(many)).withMessageContaining("1000");
  }

  @Test
  void whatIsNoSkillIsRefused() throws IOException {
    refused("a.zip", Packed.zip("README.md", MAIN)).withMessageContaining("SKILL.md");
    refused("a.zip", Packed.zip("a/SKILL.md", MAIN, "b/SKILL.md", MAIN));
    refused("a.zip", Packed.zip("a/b/SKILL.md", MAIN));
    refused("a.zip", Packed.zip());
    refused("a.zip", MAIN.getBytes(StandardCharsets.UTF_8)).withMessageContaining("zip");
    refused("a.md", Packed.zip("SKILL.md", MAIN));
    refused("a.exe", MAIN.getBytes(StandardCharsets.UTF_8)).withMessageContaining("*.skill");
  }

  private SkillPackage read(String filename, String text) throws IOException {
    return read(filename, text.getBytes(StandardCharsets.UTF_8));
  }

  private SkillPackage read(String filename, byte[] bytes) throws IOException {
    return SkillPackage.read(filename, Files.write(folder.resolve("package"), bytes));
  }

  private ThrowableAssertAlternative<SandboxException> refused(String filename, byte[] bytes)
      throws IOException {
    return refused(ErrorCode.INVALID_INPUT, filename, bytes);
  }

  private ThrowableAssertAlternative<SandboxException> refused(
      ErrorCode code, String filename, byte[] bytes) throws IOException {
    Path file = Files.write(folder.resolve("package"), bytes);
    return assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> SkillPackage.read(filename, file))
        .satisfies(e -> assertThat(e.code()).isEqualTo(code));
  }
}
