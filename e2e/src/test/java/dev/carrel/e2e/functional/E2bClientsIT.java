package dev.carrel.e2e.functional;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.bench.ServerProcess;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Carrel;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** E2B's own packages, unchanged, as their package managers install them, through one port. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class E2bClientsIT {
  private ServerProcess server;
  private Api api;
  private E2bPackages packages;

  @BeforeAll
  void serve(@TempDir Path folder) throws Exception {
    server = Carrel.start(folder, Map.of());
    api = new Api(server.address(), server.token());
    String address = server.address().toString();
    packages =
        new E2bPackages(
            Map.of(
                "E2B_API_URL",
                address,
                "E2B_SANDBOX_URL",
                address,
                "E2B_API_KEY",
                key(),
                "CARREL_URL",
                address,
                "CARREL_TOKEN",
                server.token(),
                "PYTHONPATH",
                System.getProperty("carrel.root") + "/sdks/python/src"));
  }

  @AfterAll
  void end() throws Exception {
    api.close();
    server.close();
  }

  @Test
  void javaScriptNow() throws Exception {
    packages.javaScript(E2bPackages.NPM_NOW, "all");
  }

  @Test
  void javaScriptOfAYearBefore() throws Exception {
    packages.javaScript(E2bPackages.NPM_A_YEAR_BEFORE, "core");
  }

  @Test
  void pythonNow() throws Exception {
    packages.python(E2bPackages.PYPI_NOW, "all");
  }

  @Test
  void pythonOfAYearBefore() throws Exception {
    packages.python(E2bPackages.PYPI_A_YEAR_BEFORE, "core");
  }

  /** Twice as long at most, and that in one of three rounds. */
  @Test
  void aCommandTakesHardlyLongerThanThroughOurOwnPackage() throws Exception {
    String said = packages.python(E2bPackages.PYPI_NOW, "e2b_latency.py", "true");
    String ratio = said.substring(said.indexOf("ratio ") + 6, said.indexOf(" exit"));
    assertThat(Double.parseDouble(ratio.strip())).as(said).isLessThanOrEqualTo(2);
  }

  private String key() {
    return api.call(
            "POST", "/api/v1/keys", "{\"name\":\"e2e\",\"tenant\":\"acme\",\"principal\":\"ada\"}")
        .json()
        .get("key")
        .asText();
  }
}
