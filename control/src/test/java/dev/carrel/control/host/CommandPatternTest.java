package dev.carrel.control.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.carrel.spi.SandboxException;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class CommandPatternTest {
  private static boolean allows(String pattern, String... words) {
    return CommandPattern.parse(pattern).allows(List.of(words));
  }

  private static boolean blocks(String pattern, String... words) {
    return CommandPattern.parse(pattern).blocks(Set.of(words[0]), List.of(words));
  }

  @Test
  void eachWordStandsForOneWord() {
    assertThat(allows("docker restart *", "docker", "restart", "web")).isTrue();
    assertThat(allows("docker restart *", "docker", "restart")).isFalse();
    assertThat(allows("docker restart *", "docker", "restart", "web", "db")).isFalse();
    assertThat(allows("docker restart *", "docker", "rm", "web")).isFalse();
    assertThat(allows("docker restart *", "docker restart web")).isFalse();
    assertThat(allows("git log **", "git", "log")).isTrue();
    assertThat(allows("git log **", "git", "log", "--oneline", "x")).isTrue();
    assertThat(allows("git log **", "git", "push")).isFalse();
    assertThat(allows("systemctl status app-*", "systemctl", "status", "app-web")).isTrue();
    assertThat(allows("systemctl status app-*", "systemctl", "status", "sshd")).isFalse();
  }

  @Test
  void whatAShellWouldTakeApartIsPartOfOneWord() {
    assertThat(allows("echo hi", "echo", "hi; rm -rf /")).isFalse();
    assertThat(allows("echo hi", "echo", "hi", ";", "rm")).isFalse();
    assertThat(allows("echo *", "echo", "a;b|c$(d)")).isTrue();
  }

  @Test
  void aStarStandsForNoOptionAndNoWayUp() {
    assertThat(allows("git log *", "git", "log", "--output=/etc/passwd")).isFalse();
    assertThat(allows("cat /var/log/*", "cat", "/var/log/app.log")).isTrue();
    assertThat(allows("cat /var/log/*", "cat", "/var/log/../../etc/shadow")).isFalse();
    assertThat(allows("cat /var/log/*", "cat", "/var/log/..")).isFalse();
    assertThat(allows("cat /var/log/*", "cat", "/var/log/apt/term.log")).isFalse();
    assertThat(allows("cat *", "cat", "a/../../b")).isFalse();
    assertThat(allows("ls -*", "ls", "-la")).isTrue();
  }

  @Test
  void blockedWordsAreFoundWhateverStandsBetweenThem() {
    assertThat(blocks("git push", "git", "-C", "/x", "push", "origin")).isTrue();
    assertThat(blocks("git push", "git", "pull")).isFalse();
    assertThat(blocks("rm", "nice", "-n", "5", "rm", "-rf", "/")).isTrue();
    assertThat(blocks("rm", "nice", "/usr/bin/rm", "x")).isTrue();
    assertThat(blocks("git push **", "git", "push")).isTrue();
    assertThat(blocks("dd of=/dev/*", "dd", "if=x", "of=/dev/sd/a")).isTrue();
    assertThat(blocks("rm", "ls", "--rm")).isFalse();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"*", "**", "* *", "*sh", "d* restart", "''", "' '*", "** x", "a ** b", ""})
  void theProgramIsNeverAStar(String pattern) {
    assertThatThrownBy(() -> CommandPattern.parse(pattern)).isInstanceOf(SandboxException.class);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "ls; id", "ls | id", "ls && id", "ls > x", "ls $(id)", "ls `id`", "ls \\x", "ls ?", "ls ~",
        "ls [a]", "ls {a,b}", "ls # x", "ls 'x", "ls \"$x\"", "ls \n id", "ls \0", "ls \t",
            "ls \u202e",
        "ls \u001b[2J"
      })
  void whatNeedsAShellOrCannotBeSeenIsRefused(String line) {
    assertThatThrownBy(() -> CommandPattern.parse(line)).isInstanceOf(SandboxException.class);
    assertThatThrownBy(() -> HostCommand.words(line)).isInstanceOf(SandboxException.class);
  }

  @Test
  void thereIsOneWayToWriteIt() {
    List<String> words = List.of("grep", "it's *", "", "a\"b", "--x=$y", "plain");
    String text = CommandPattern.of(words).toString();
    assertThat(text).isEqualTo("grep 'it'\"'\"'s *' '' 'a\"b' '--x=$y' plain");
    assertThat(HostCommand.words(text)).isEqualTo(words);
    assertThat(CommandPattern.parse(text)).isEqualTo(CommandPattern.of(words));
    assertThat(CommandPattern.parse("  docker   restart  'a b'*  ").toString())
        .isEqualTo("docker restart 'a b'*");
    assertThat(allows("echo '*'", "echo", "x")).isFalse();
    assertThatThrownBy(() -> HostCommand.words("ls *")).isInstanceOf(SandboxException.class);
  }
}
