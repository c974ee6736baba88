package dev.carrel.egress;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class PackageSourcesTest {
  private final Path root;
  private final Path home;

  PackageSourcesTest(@TempDir Path root) {
    this.root = root;
    this.home = root.resolve("home/ada");
  }

  @BeforeEach
  void setUp() throws IOException {
    write(
        "etc/pip.conf",
        """
        # a company's mirror
        [global]
        index-url = https://ada:s@cret@pip.corp.example/simple
        extra-index-url =
            https://extra.corp.example:8443/simple
            http://plain.corp.example/simple
        cert = /etc/ssl/certs/corp.pem
        """);
    write("etc/npmrc", "registry=https://old.corp.example/\n");
    write(
        "home/ada/.npmrc",
        """
        ; a comment
        registry = https://npm.corp.example/npm/
        @team:registry=https://team.corp.example/
        //npm.corp.example/:_authToken=secret
        cafile=/home/ada/own.pem
        """);
    write(
        "home/ada/.cargo/config.toml",
        "[source.mirror]\nregistry = \"sparse+https://cargo.corp.example/index/\"\n");
    write(
        "etc/apt/sources.list",
        "# deb http://no.example/ x\ndeb http://apt.corp.example/debian a b\n");
    write(
        "etc/apt/sources.list.d/more.sources",
        "Types: deb\nURIs: https://more.corp.example/debian\n");
    write("etc/apt/sources.list.d/old.list.save", "deb http://no.example/ x\n");
  }

  @Test
  void hostsAreThoseOfTheClientsOwnFiles() {
    var sources = new PackageSources(host(Map.of(), List.of(Rule.parse("added.example:8080"))));
    assertThat(sources.rules())
        .extracting(Rule::toString)
        .containsExactly(
            "pip.corp.example",
            "extra.corp.example:8443",
            "plain.corp.example",
            "npm.corp.example",
            "team.corp.example",
            "cargo.corp.example",
            "apt.corp.example",
            "more.corp.example",
            "added.example:8080");
  }

  @Test
  void sandboxesAreToldWithoutCredentialsAndOnlyOfCertificatesTheySee() {
    assertThat(new PackageSources(host(Map.of(), List.of())).environment())
        .containsOnly(
            Map.entry("PIP_INDEX_URL", "https://pip.corp.example/simple"),
            Map.entry(
                "PIP_EXTRA_INDEX_URL",
                "https://extra.corp.example:8443/simple http://plain.corp.example/simple"),
            Map.entry("PIP_CERT", "/etc/ssl/certs/corp.pem"),
            Map.entry("NPM_CONFIG_REGISTRY", "https://npm.corp.example/npm/"));
  }

  @Test
  void variablesGoOverFiles() {
    var sources =
        new PackageSources(
            host(
                Map.of(
                    "PIP_INDEX_URL", "https://var.corp.example/simple",
                    "npm_config_registry", "https://varnpm.corp.example:4873/",
                    "SECRET", "not read"),
                List.of()));
    assertThat(sources.environment())
        .containsEntry("PIP_INDEX_URL", "https://var.corp.example/simple")
        .containsEntry("NPM_CONFIG_REGISTRY", "https://varnpm.corp.example:4873/");
    assertThat(sources.rules())
        .extracting(Rule::toString)
        .contains("var.corp.example", "varnpm.corp.example:4873")
        .doesNotContain("pip.corp.example", "npm.corp.example");
  }

  @Test
  void whoeverIsCalledAwayLeavesNoHalfAnswer(@TempDir Path empty) {
    Map<String, String> path = Map.of("PATH", System.getenv("PATH"));
    var host = new PackageHost(path, empty, empty, List.of());
    var sources = new PackageSources(host);
    Thread.currentThread().interrupt();
    assertThat(sources.rules()).isEmpty();
    assertThat(Thread.interrupted()).isTrue();
    assertThat(sources.rules()).isEqualTo(new PackageSources(host).rules());
  }

  @Test
  void hostWithoutClientsHasNone() {
    assertThat(new PackageSources(PackageHost.none()).rules()).isEmpty();
    assertThat(new PackageSources(PackageHost.none()).environment()).isEmpty();
    assertThat(host(Map.of("SECRET", "x", "PIP_CERT", "y"), List.of()).variables())
        .containsOnlyKeys("PIP_CERT");
  }

  private PackageHost host(Map<String, String> variables, List<Rule> more) {
    return new PackageHost(variables, home, root, more);
  }

  private void write(String name, String text) throws IOException {
    Path file = root.resolve(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }
}
