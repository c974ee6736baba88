package dev.carrel.e2e.security;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.e2e.Api;
import dev.carrel.e2e.Box;
import dev.carrel.e2e.Carrel;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Cases F: the file API never leaves the sandbox and never hangs. */
@ExtendWith(Carrel.class)
class FileApiIT {
  /** What nobody may read of the first process; gVisor shows its environment to all. */
  private static final String GUEST = Carrel.OWN_KERNEL ? "mem" : "environ";

  private static Box box;

  @BeforeAll
  static void create(Api api) {
    box = api.create("{}");
  }

  @AfterAll
  static void delete() {
    box.close();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "../etc/passwd",
        "a/../../etc/passwd",
        "%2e%2e/etc/passwd",
        "..%2fetc%2fpasswd",
        "a/%2e%2e/%2e%2e/etc/passwd",
        "x%00y",
        "%ff%fe",
        "%c0%ae%c0%ae/etc/passwd"
      })
  void f01PathsThatLeaveOrLieAreRefused(String path) {
    assertThat(box.file(path).status()).as(path).isIn(400, 404, 422);
    assertThat(box.file(path).text()).doesNotContain("root:");
  }

  @Test
  void f01AVeryLongPathIsRefused() {
    assertThat(box.file("a/".repeat(3000)).status()).isIn(400, 414, 422);
  }

  @Test
  void f02ALinkOutOfTheWorkspaceShowsOnlyTheSandboxesOwnFiles() {
    box.exec(
        "ln -sfn /etc/shadow s; ln -sfn /proc/1/"
            + GUEST
            + " e; ln -sfn / root; ln -sfn /etc/hostname h");
    assertThat(box.file("s").status()).isIn(403, 404, 422);
    assertThat(box.file("e").status()).isIn(403, 404, 422);
    assertThat(box.file("root/root/.bashrc").status()).isIn(403, 404, 422);
    assertThat(box.file("h").text().strip()).as("its own host name, not ours").isEqualTo(box.id());
    assertThat(
            box.api().bytes("PUT", box.path() + "/files/root/usr/planted", new byte[] {1}).status())
        .isIn(403, 422);
  }

  @Test
  void f03SwappingAParentDuringTransfersNeverEscapes() {
    box.exec("mkdir -p real && echo inside > real/hostname");
    box.exec(
        "nohup bash -c 'while [ ! -e enough ]; do ln -sfn real swap; ln -sfn /etc swap; done'"
            + " >/dev/null 2>&1 & sleep 0.1");
    var seen = new java.util.TreeSet<String>();
    for (int i = 0; i < 1000 && (i < 200 || seen.size() < 2); i++) {
      Api.Answer answer = box.file("swap/hostname");
      if (answer.status() == 200) {
        seen.add(answer.text().strip());
      }
    }
    box.put("enough", "");
    assertThat(seen)
        .as("its own two, not the host's")
        .containsExactlyInAnyOrder("inside", box.id());
  }

  @ParameterizedTest
  @ValueSource(strings = {"fifo", "socket", "zero", "mem"})
  void f05SpecialFilesAreATypedErrorAtOnce(String name) {
    box.exec(
        "cd /workspace; [ -p fifo ] || mkfifo fifo; ln -sfn /dev/zero zero; ln -sfn /proc/self/mem"
            + " mem; [ -S socket ] || /usr/bin/python3 -c 'import"
            + " socket;socket.socket(socket.AF_UNIX).bind(\"socket\")'");
    assertThat(box.file(name).status()).isIn(403, 422);
    assertThat(box.file(name).json().get("code").asText()).isNotBlank();
  }

  @Test
  void f05AHugeSparseFileCanBeReadInPart() {
    box.exec("truncate -s 1T sparse && printf end >> sparse");
    var stat = box.api().post(box.path() + "/fs/stat", Api.object().put("path", "sparse"));
    assertThat(stat.json().get("size").asLong()).isEqualTo((1L << 40) + 3);
  }

  @Test
  void f08AFileThatShrinksDuringTheTransferIsNotPadded() {
    box.exec(
        "tr '\\0' x < /dev/zero | head -c 50000000 > full; nohup bash -c 'while [ ! -e shrunk ]; do"
            + " cp full shrinking; sleep 0.1; truncate -s 100 shrinking; done' >/dev/null 2>&1 &");
    int cut = 0;
    for (int i = 0; i < 100 && cut < 2; i++) {
      try {
        for (byte one : box.file("shrinking").body()) {
          if (one == 0) {
            throw new AssertionError("what was no longer there came as zeros");
          }
        }
      } catch (java.io.UncheckedIOException cutOff) {
        cut++;
      }
    }
    box.put("shrunk", "");
    assertThat(cut).as("transfers that the test has cut").isPositive();
    assertThat(box.shell("echo alive")).startsWith("alive");
  }

  @Test
  void namesWithAnythingInThemSurviveTheRoundTrip() {
    String name = "sp ace ünïcode \"quoted\" #hash?.txt";
    String encoded =
        java.net.URLEncoder.encode(name, java.nio.charset.StandardCharsets.UTF_8)
            .replace("+", "%20");
    box.put(encoded, "content");
    assertThat(box.file(encoded).text()).isEqualTo("content");
    assertThat(box.api().get(box.path() + "/files?path=/workspace").text()).contains("ünïcode");
  }
}
