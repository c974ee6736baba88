package dev.carrel.e2e.security;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.bench.ServerProcess;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Box;
import dev.carrel.e2e.Carrel;
import dev.carrel.e2e.Need;
import dev.carrel.engine.testkit.Eventually;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Case T01: a box that waited in a pool has nothing of whoever had another one before, whether
 * somebody asked for the pool or it came by itself.
 */
class WarmBoxIT {
  private static final String MARK = "residue-of-another-tenant";

  private static final String SOIL =
      """
      cd /workspace && echo MARK > file && mkdir -p .config && echo MARK > .config/x
      echo MARK > /tmp/file; echo MARK > /dev/shm/file; echo MARK >> ~/.bash_history
      ln -s /etc/passwd link; (sleep 300; echo MARK) > /dev/null 2>&1 &
      """
          .replace("MARK", MARK);

  /**
   * Everything in a sandbox that somebody could have left something in. Processes are read before
   * anything is piped: the other end of a pipe may or may not have its own name yet.
   */
  private static final String LOOK =
      """
      find /workspace /tmp /dev/shm /var/tmp /run -mindepth 1 2>/dev/null | sort
      echo environment; env | sort
      names=$(cat /proc/[0-9]*/comm)
      echo processes; echo "$names" | sort -u
      echo memory; ipcs -a 2>/dev/null | grep -c 0x
      """;

  private static final String GLOBALS = "sorted(n for n in globals() if not n.startswith('__'))";

  @Test
  void t01NothingOfAFormerTenantIsInAWarmBox(@TempDir Path folder) throws Exception {
    residue(
        folder, Map.of("CARREL_POOL_SIZES", "host=1-2", "CARREL_POOL_LANGUAGES", "host=python"));
  }

  @Test
  void t01NorInOneThatWasMadeByItself(@TempDir Path folder) throws Exception {
    Need.QUICK_STARTS.require();
    residue(folder, Map.of());
  }

  private static void residue(Path folder, Map<String, String> settings) throws Exception {
    try (ServerProcess server = Carrel.start(folder, settings);
        Api api = new Api(server.address(), server.token())) {
      String fresh;
      String former;
      try (Box box = warm(api)) {
        former = box.id();
        fresh = box.shell(LOOK);
        box.exec(SOIL);
        box.python("import os; secret = os.environ['MARK'] = '" + MARK + "'");
        assertThat(box.shell(LOOK)).as("the test leaves what it looks for").contains("/tmp/file");
      }
      try (Box next = warm(api)) {
        assertThat(next.id()).isNotEqualTo(former);
        assertThat(next.shell(LOOK)).isEqualTo(fresh);
        assertThat(next.shell("grep -rs " + MARK + " /workspace /tmp /dev/shm /run; true"))
            .doesNotContain(MARK);
        JsonNode globals = next.python(GLOBALS);
        assertThat(globals.get("result").get("text/plain").asText()).isEqualTo("[]");
        JsonNode environment =
            next.python("import os; (os.environ.get('OWN'), 'MARK' in os.environ)");
        assertThat(environment.get("result").get("text/plain").asText()).isEqualTo("('1', False)");
      }
    }
  }

  /** One that waited in the pool with its interpreter, which takes a few that did not. */
  private static Box warm(Api api) {
    var found = new AtomicReference<Box>();
    Eventually.holds(
        "a box waits",
        Duration.ofMinutes(3),
        () -> {
          long before = hits(api);
          Box box = api.create("{\"env_vars\":{\"OWN\":\"1\"}}");
          if (hits(api) > before && box.shell("cat /proc/[0-9]*/comm").contains("python")) {
            found.set(box);
            return true;
          }
          box.python("1");
          box.close();
          return false;
        });
    return found.get();
  }

  private static long hits(Api api) {
    return api.get("/api/v1/settings/sandbox/pool-summary").json().at("/per_image/0/hits").asLong();
  }
}
