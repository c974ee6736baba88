package dev.carrel.server.rest;

import dev.carrel.control.exec.ExecResult;
import dev.carrel.control.packages.InstallPackages;
import dev.carrel.control.packages.Installation;
import dev.carrel.control.packages.PackageClient;
import dev.carrel.control.packages.Packages;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Router;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Packages of languages. */
public final class PackageRoutes {
  private final Packages packages;

  PackageRoutes(Packages packages) {
    this.packages = packages;
  }

  void addTo(Router router) {
    router.post("/api/v1/sandboxes/{id}/packages", this::install);
  }

  private void install(Exchange exchange) throws IOException, InterruptedException {
    InstallPackages request = request(exchange.fields());
    exchange.cancelWhenClientLeaves();
    Installation done = packages.install(exchange.caller(), Ids.sandbox(exchange), request);
    exchange.settle();
    exchange.json(200, View.of(done));
  }

  static InstallPackages request(Fields fields) {
    return new InstallPackages(
        PackageClient.parse(fields.requiredString("manager")),
        fields.words("packages").orElseThrow(() -> fields.missing("packages")),
        fields.bool("scripts", false));
  }

  /** What came of it. */
  public record View(
      String manager,
      boolean success,
      List<PackageView> packages,
      List<PackageView> resolved,
      int filesCached,
      int filesFetched,
      int exitCode,
      boolean timedOut,
      String stdout,
      String stderr,
      double durationMs,
      String execId) {
    public static View of(Installation done) {
      ExecResult ran = done.exec();
      return new View(
          done.client().wireName(),
          done.success(),
          views(done.installed()),
          views(done.resolved()),
          done.files().cached(),
          done.files().fetched(),
          ran.exitCode(),
          ran.timedOut(),
          ran.stdout().text(),
          ran.stderr().text(),
          ExecViews.millis(ran.duration()),
          ran.id().value());
    }
  }

  private static List<PackageView> views(List<Installation.Installed> some) {
    return some.stream().map(one -> new PackageView(one.name(), one.version())).toList();
  }

  record PackageView(String name, @Nullable String version) {}
}
