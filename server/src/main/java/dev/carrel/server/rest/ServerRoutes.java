package dev.carrel.server.rest;

import dev.carrel.control.image.Images;
import dev.carrel.control.sandbox.Engines;
import dev.carrel.image.Builders;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Json;
import dev.carrel.server.http.Router;
import dev.carrel.spi.Capabilities;
import dev.carrel.spi.Language;
import dev.carrel.spi.Rootfs;
import io.helidon.http.HeaderNames;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The server itself: whether it lives, what it can run, what it counts. */
final class ServerRoutes {
  private static final String PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";

  private final Engines engines;
  private final Images images;
  private final Metrics metrics;
  private final byte[] health = Json.bytes(new Health("ok", Version.CURRENT));

  ServerRoutes(Engines engines, Images images, Metrics metrics) {
    this.engines = engines;
    this.images = images;
    this.metrics = metrics;
  }

  void addTo(Router router) {
    router
        .open("/health", this::health)
        .get("/metrics", this::metrics)
        .get("/api/v1/engines", this::engines)
        .get("/api/v1/languages", this::languages);
  }

  private void health(Exchange exchange) {
    exchange.header(HeaderNames.CONTENT_TYPE, "application/json").bytes(200, health);
  }

  private void metrics(Exchange exchange) {
    byte[] text = metrics.scrape(exchange.caller()).getBytes(StandardCharsets.UTF_8);
    exchange.header(HeaderNames.CONTENT_TYPE, PROMETHEUS).bytes(200, text);
  }

  private void engines(Exchange exchange) {
    exchange.json(
        200,
        new EngineList(
            engines.capabilities().stream()
                .map(found -> EngineInfo.of(found, engines.overlayProblem(found.engine())))
                .toList(),
            images.builders().stream().map(ImageBuilder::of).toList()));
  }

  private void languages(Exchange exchange) {
    exchange.json(
        200,
        new LanguageList(
            Arrays.stream(Language.values())
                .map(language -> new LanguageInfo(language.wireName()))
                .toList()));
  }

  record Health(String status, String version) {}

  record EngineList(List<EngineInfo> engines, List<ImageBuilder> builders) {}

  record ImageBuilder(String name, boolean usable, boolean used, String detail) {
    static ImageBuilder of(Builders.Finding found) {
      return new ImageBuilder(found.name(), found.usable(), found.used(), found.detail());
    }
  }

  record EngineInfo(
      String name,
      String runtime,
      boolean usable,
      String isolation,
      List<SandboxView.Measure> isolationMeasures,
      List<String> problems,
      List<String> rootfs,
      @Nullable String overlayProblem) {
    static EngineInfo of(Capabilities capabilities, Optional<String> overlayProblem) {
      return new EngineInfo(
          capabilities.engine(),
          capabilities.runtime(),
          capabilities.usable(),
          SandboxView.strength(capabilities.isolation()),
          SandboxView.measures(capabilities.isolation()),
          capabilities.problems(),
          Arrays.stream(Rootfs.values())
              .filter(rootfs -> rootfs == Rootfs.READ_ONLY || overlayProblem.isEmpty())
              .map(Rootfs::wireName)
              .toList(),
          overlayProblem.orElse(null));
    }
  }

  record LanguageList(List<LanguageInfo> languages) {}

  record LanguageInfo(String name) {}
}
