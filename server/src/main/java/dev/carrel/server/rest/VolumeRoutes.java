package dev.carrel.server.rest;

import dev.carrel.control.sandbox.NamedVolume;
import dev.carrel.control.sandbox.NamedVolumes;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Router;
import dev.carrel.spi.SandboxId;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Volumes that tenants name. */
final class VolumeRoutes {
  private static final String ALL = "/api/v1/volumes";
  private static final String ONE = ALL + "/{name}";

  private final NamedVolumes volumes;

  VolumeRoutes(NamedVolumes volumes) {
    this.volumes = volumes;
  }

  void addTo(Router router) {
    router
        .post(ALL, this::create)
        .get(ALL, this::list)
        .get(ONE, this::get)
        .delete(ONE, this::delete);
  }

  private void create(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    NamedVolume volume =
        volumes.create(
            exchange.caller(),
            fields.requiredString("name"),
            fields.wholeNumber("size_mb", 1, Integer.MAX_VALUE),
            fields.string("engine"));
    exchange.header(HeaderNames.LOCATION, ALL + "/" + volume.name()).json(201, View.of(volume));
  }

  private void list(Exchange exchange) {
    exchange.json(200, new Page(volumes.list(exchange.caller()).stream().map(View::of).toList()));
  }

  private void get(Exchange exchange) {
    exchange.json(200, View.of(volumes.get(exchange.caller(), exchange.parameter("name"))));
  }

  private void delete(Exchange exchange) {
    volumes.delete(exchange.caller(), exchange.parameter("name"));
    exchange.noContent();
  }

  record Page(List<View> volumes) {}

  record View(
      String id,
      String name,
      String engine,
      @Nullable String sandboxId,
      long sizeMb,
      long usedBytes,
      String createdAt,
      String usedAt) {
    static View of(NamedVolume volume) {
      SandboxId sandbox = volume.sandbox();
      return new View(
          volume.id().value(),
          volume.name(),
          volume.engine(),
          sandbox == null ? null : sandbox.value(),
          volume.size().mebibytes(),
          volume.usedBytes(),
          volume.createdAt().toString(),
          volume.usedAt().toString());
    }
  }
}
