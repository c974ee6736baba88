package dev.carrel.server.rest;

import dev.carrel.control.image.Image;
import dev.carrel.control.image.ImageProgress;
import dev.carrel.control.image.Images;
import dev.carrel.control.sandbox.Engines;
import dev.carrel.control.sandbox.Snapshots;
import dev.carrel.image.BuildOrder;
import dev.carrel.image.Digest;
import dev.carrel.image.ImageLock;
import dev.carrel.image.LockedPackage;
import dev.carrel.image.Platform;
import dev.carrel.image.Reference;
import dev.carrel.image.Snapshot;
import dev.carrel.server.http.EventStream;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Router;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** What sandboxes start on. */
final class ImageRoutes {
  private static final String ALL = "/api/v1/images";
  private static final String ONE = ALL + "/{image}";

  private final Images images;
  private final Engines engines;
  private final Snapshots snapshots;

  ImageRoutes(Images images, Engines engines, Snapshots snapshots) {
    this.images = images;
    this.snapshots = snapshots;
    this.engines = engines;
  }

  void addTo(Router router) {
    router
        .get(ALL, this::list)
        .post(ALL + "/pull", this::pull)
        .post(ALL + "/build", this::build)
        .post(ALL + "/import", this::importArchive)
        .post(ALL + "/commit", this::commit)
        .post(ALL + "/prune", this::prune)
        .get(ONE, this::get)
        .get(ONE + "/log", this::log)
        .get(ONE + "/lock", this::lock)
        .get(ONE + "/progress", exchange -> follow(exchange, exchange.parameter("image")))
        .get(ONE + "/export", this::export)
        .delete(ONE, this::delete);
  }

  private void list(Exchange exchange) {
    exchange.json(200, new Page(images.list().stream().map(this::view).toList(), images.diskUse()));
  }

  private void get(Exchange exchange) {
    exchange.json(200, view(images.get(exchange.parameter("image"))));
  }

  private void build(Exchange exchange) throws IOException, InterruptedException {
    Fields fields = exchange.fields();
    AdminRoutes.requireAdmin(exchange.caller());
    Fields lock = fields.object("lock");
    var order = new BuildOrder(snapshot(fields), lock == null ? null : Lock.read(lock));
    begun(exchange, images.build(exchange.caller(), fields.requiredString("name"), order));
  }

  private static @Nullable Snapshot snapshot(Fields fields) {
    String address = fields.string("snapshot");
    return address == null ? null : new Snapshot(address);
  }

  private void pull(Exchange exchange) throws IOException, InterruptedException {
    Fields fields = exchange.fields();
    Reference reference = Reference.parse(fields.requiredString("reference"));
    String platform = fields.string("platform");
    begun(
        exchange,
        images.pull(
            exchange.caller(), reference, platform == null ? null : Platform.parse(platform)));
  }

  private void commit(Exchange exchange) throws IOException, InterruptedException {
    Fields fields = exchange.fields();
    AdminRoutes.requireAdmin(exchange.caller());
    var sandbox = new SandboxId(fields.requiredString("sandbox_id"));
    String name = fields.requiredString("name");
    begun(
        exchange,
        images.commit(exchange.caller(), snapshots.changes(exchange.caller(), sandbox), name));
  }

  /** The work goes on by itself; who wants events follows it, and may go away. */
  private void begun(Exchange exchange, Image image) throws IOException, InterruptedException {
    if (exchange.accepts("text/event-stream")) {
      follow(exchange, image.name());
    } else {
      exchange.json(202, view(image));
    }
  }

  private void importArchive(Exchange exchange) throws InterruptedException {
    String name =
        exchange
            .query()
            .text("name")
            .orElseThrow(() -> SandboxException.invalid("name", "is required"));
    Platform platform = exchange.query().text("platform").map(Platform::parse).orElse(null);
    Image made = images.importArchive(exchange.caller(), name, exchange.body(), platform);
    exchange.json(201, view(made));
  }

  private void export(Exchange exchange) throws IOException {
    Image image = images.get(exchange.parameter("image"));
    AdminRoutes.requireAdmin(exchange.caller());
    images.requireRoot(image);
    exchange.header(HeaderNames.CONTENT_TYPE, "application/x-tar");
    try (OutputStream out = exchange.output(200, -1)) {
      images.export(exchange.caller(), image, out);
    }
  }

  private void log(Exchange exchange) {
    exchange.header(HeaderNames.CONTENT_TYPE, "text/plain; charset=utf-8");
    exchange.bytes(200, images.log(exchange.parameter("image")).getBytes(StandardCharsets.UTF_8));
  }

  private void lock(Exchange exchange) {
    exchange.json(200, Lock.of(images.lock(exchange.parameter("image"))));
  }

  private void delete(Exchange exchange) {
    images.delete(exchange.caller(), exchange.parameter("image"));
    exchange.noContent();
  }

  private void prune(Exchange exchange) throws IOException {
    Images.Pruned pruned = images.prune(exchange.caller(), exchange.fields().bool("unused", false));
    exchange.json(200, pruned);
  }

  /** News of the work on an image until it ends, then the image. */
  private void follow(Exchange exchange, String name) throws IOException, InterruptedException {
    images.get(name);
    EventStream events = exchange.events();
    ImageProgress seen = ImageProgress.NONE;
    while (!seen.ended()) {
      ImageProgress next = images.progress(name, seen, events.patience());
      if (next.version() == seen.version()) {
        events.keepAlive();
      } else if (!next.ended()) {
        events.send("progress", Step.of(next));
      }
      seen = next;
    }
    events.send("image", view(images.get(name)));
  }

  private View view(Image image) {
    boolean folder = image.source() != Image.Source.HOST;
    return new View(
        image.name(),
        image.source().wireName(),
        image.origin(),
        image.status().wireName(),
        image.digest() == null ? null : image.digest().toString(),
        image.bytes(),
        new TreeSet<>(image.languages().stream().map(Language::wireName).toList()),
        image.usable() ? engines.running(folder) : List.of(),
        image.usable(),
        image.failure(),
        image.digest() == null
                && image.failure() == null
                && !image.status().equals(Image.Status.BUILDING)
            ? null
            : image.updatedAt().toString());
  }

  record Page(List<View> images, long diskBytes) {}

  record View(
      String name,
      String source,
      String origin,
      String status,
      @Nullable String digest,
      long sizeBytes,
      TreeSet<String> languages,
      List<String> engines,
      boolean usable,
      @Nullable String failure,
      @Nullable String updatedAt) {}

  /** What an image was built of, as it is written and read. */
  record Lock(
      String image,
      String release,
      String architecture,
      long sourceDateEpoch,
      @Nullable String snapshot,
      @Nullable String digest,
      List<String> packages) {
    static Lock of(ImageLock lock) {
      return new Lock(
          lock.image(),
          lock.release(),
          lock.architecture(),
          lock.sourceDateEpoch(),
          lock.snapshot() == null ? null : lock.snapshot().address(),
          lock.digest() == null ? null : lock.digest().toString(),
          lock.packages().stream().map(LockedPackage::toString).toList());
    }

    static ImageLock read(Fields fields) {
      Long epoch = fields.wholeNumber("source_date_epoch", 0, ImageLock.MAX_EPOCH);
      if (epoch == null) {
        throw fields.missing("source_date_epoch");
      }
      String digest = fields.string("digest");
      return new ImageLock(
          fields.requiredString("image"),
          fields.requiredString("release"),
          fields.requiredString("architecture"),
          epoch,
          ImageRoutes.snapshot(fields),
          digest == null ? null : Digest.parse(digest),
          fields.words("packages").orElseThrow(() -> fields.missing("packages")).stream()
              .map(LockedPackage::parse)
              .toList());
    }
  }

  record Step(String step, long done, @Nullable Long total, List<String> log) {
    static Step of(ImageProgress progress) {
      return new Step(
          progress.step(),
          progress.done(),
          progress.total() < 0 ? null : progress.total(),
          progress.lines());
    }
  }
}
