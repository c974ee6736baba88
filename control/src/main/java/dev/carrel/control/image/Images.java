package dev.carrel.control.image;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Namespace;
import dev.carrel.control.sandbox.RootChanges;
import dev.carrel.control.sandbox.RootImages;
import dev.carrel.control.sandbox.SandboxJournal;
import dev.carrel.control.sandbox.SandboxSettings;
import dev.carrel.control.store.Database;
import dev.carrel.control.store.Reserve;
import dev.carrel.image.BuildOrder;
import dev.carrel.image.Builders;
import dev.carrel.image.Catalog;
import dev.carrel.image.Digest;
import dev.carrel.image.ImageFolder;
import dev.carrel.image.ImageLock;
import dev.carrel.image.Interpreters;
import dev.carrel.image.Platform;
import dev.carrel.image.Reach;
import dev.carrel.image.Recipe;
import dev.carrel.image.Reference;
import dev.carrel.image.Snapshot;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import dev.carrel.spi.Workshop;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The images of this server. Everybody may see them, administrators may change them: an image is
 * every tenant's. Safe for many threads.
 */
public final class Images implements RootImages, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Images.class);
  private static final Pattern NAME = Pattern.compile("[a-z0-9]+(?:[._/:@-]+[A-Za-z0-9]+)*");
  private static final int MAX_NAME = 200;

  private final ImageFolder folder;
  private final Builders builders;
  private final ImageStore store;
  private final ImageJobs jobs;
  private final Map<String, Recipe> catalog = Catalog.load();
  private final @Nullable Snapshot snapshot;
  private final SandboxJournal journal;
  private final Supplier<SandboxSettings> settings;
  private final Map<Path, Set<Language>> seen = new ConcurrentHashMap<>();
  private final List<Runnable> listeners = new CopyOnWriteArrayList<>();
  private volatile Map<String, Image> ready = Map.of();
  private volatile Supplier<Set<String>> pooled = Set::of;

  /**
   * @param directory where the files of images are
   * @param workshops where images can be built beside this host itself
   * @param reach where registries may lead us
   */
  public Images(
      ImageSettings imageSettings,
      List<Workshop> workshops,
      Reach reach,
      Supplier<SandboxSettings> settings,
      Path directory,
      Database database,
      SandboxJournal journal) {
    this.settings = settings;
    this.snapshot = imageSettings.snapshot();
    this.journal = journal;
    this.store = new ImageStore(database);
    this.builders = new Builders(imageSettings.builder(), imageSettings.buildBase(), workshops);
    this.folder =
        ImageFolder.open(
            directory, imageSettings.limits(), imageSettings.authFile(), builders, reach);
    this.jobs = new ImageJobs(directory.resolve("logs"), imageSettings.maxJobs());
    store.failUnfinished(Instant.now());
    refresh();
    Thread.ofVirtual().name("image-sweep").start(this::sweepBuilders);
  }

  /** Nobody waits for it: a daemon may be slow to answer, and what is there does no harm. */
  private void sweepBuilders() {
    try {
      builders.sweep();
    } catch (IOException e) {
      LOG.warn("what earlier builds left could not be removed: {}", e.getMessage());
    }
  }

  /** Called after an image has changed; must be quick. */
  public void listen(Runnable listener) {
    listeners.add(listener);
  }

  /** Who else needs images: those that boxes are made of ahead of need. */
  public void pooled(Supplier<Set<String>> names) {
    pooled = names;
  }

  @Override
  public Set<String> names() {
    return ready.keySet();
  }

  @Override
  public Optional<Found> find(String asked) {
    Image image = ready.get(asked);
    if (image == null) {
      image = ready.get(canonical(asked));
    }
    return image == null || image.digest() == null
        ? Optional.empty()
        : Optional.of(new Found(image.name(), new RootImage.Folder(folder.root(image.digest()))));
  }

  /** By name, with those that need nothing of ours. */
  public List<Image> list() {
    var all = new ArrayList<>(store.list());
    for (Recipe recipe : catalog.values()) {
      if (all.stream().noneMatch(image -> image.name().equals(recipe.name()))) {
        all.add(unbuilt(recipe));
      }
    }
    all.add(outside(SandboxSettings.HOST_IMAGE, Image.Source.HOST, Path.of("/")));
    settings
        .get()
        .images()
        .forEach((name, path) -> all.add(outside(name, Image.Source.FOLDER, path)));
    all.sort(Comparator.comparing(Image::name));
    return all;
  }

  public Image get(String name) {
    return list().stream()
        .filter(image -> image.name().equals(name))
        .findFirst()
        .or(() -> store.find(canonical(name)))
        .orElseThrow(
            () ->
                new SandboxException(
                        ErrorCode.IMAGE_NOT_FOUND,
                        "there is no image '" + Text.printable(name, 128) + "'")
                    .withHint("'carrel images list' shows what there is"));
  }

  /** Bytes on disk of all images together; what they share counts once. */
  public long diskUse() {
    Set<Digest> layers = new HashSet<>();
    store.list().forEach(image -> layers.addAll(image.layers()));
    try {
      return folder.size(layers);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot measure the folder of images", e);
    }
  }

  /**
   * Reads an OCI layout or what {@code docker save} writes; returns when it can be used.
   *
   * @param platform null: this host's
   */
  public Image importArchive(
      Caller caller, String name, InputStream archive, @Nullable Platform platform)
      throws InterruptedException {
    requireAdmin(caller);
    checkName(name);
    Platform wanted = platform == null ? Platform.host() : platform;
    ImageJobs.Work work = progress -> folder.importArchive(archive, wanted, progress);
    begin(caller, name, Image.Source.ARCHIVE, "archive", "image.import");
    jobs.run(name, work, ending(name));
    return get(name);
  }

  /**
   * Begins to pull an image from a registry, or to pull it anew; returns at once.
   *
   * @param platform null: this host's
   */
  public Image pull(Caller caller, Reference reference, @Nullable Platform platform) {
    requireAdmin(caller);
    String name = reference.toString();
    checkName(name);
    Platform wanted = platform == null ? Platform.host() : platform;
    begin(caller, name, Image.Source.REGISTRY, name, "image.pull");
    jobs.start(name, progress -> folder.pull(reference, wanted, progress), ending(name));
    return get(name);
  }

  /**
   * Begins to build an image of the catalog, or to build it anew; returns at once.
   *
   * @param order where it names no snapshot, its lock does; then the operator, then the recipe
   */
  public Image build(Caller caller, String name, BuildOrder order) {
    requireAdmin(caller);
    Recipe recipe = catalog.get(name);
    if (recipe == null) {
      throw new SandboxException(
              ErrorCode.IMAGE_NOT_FOUND,
              "the catalog has no image '" + Text.printable(name, 128) + "'")
          .withHint("it has " + String.join(", ", catalog.keySet()));
    }
    if (order.lock() != null && !order.lock().image().equals(name)) {
      throw SandboxException.invalid(
          "lock.image", "the lock is for " + order.lock().image() + " and not for " + name);
    }
    begin(caller, name, Image.Source.CATALOG, name, "image.build");
    boolean free = order.lock() == null || order.lock().snapshot() == null;
    BuildOrder whole =
        free && order.snapshot() == null ? new BuildOrder(snapshot, order.lock()) : order;
    jobs.start(name, progress -> folder.build(recipe, whole, progress), ending(name));
    return get(name);
  }

  /** What images of the catalog can be built with here; asks, where there is somebody to ask. */
  public List<Builders.Finding> builders() {
    return builders.findings();
  }

  /** What exactly an image was built of. */
  public ImageLock lock(String name) {
    Image image = get(name);
    return Optional.ofNullable(image.digest())
        .flatMap(this::lock)
        .orElseThrow(
            () ->
                new SandboxException(
                        ErrorCode.WRONG_STATE,
                        "image " + image.name() + " was not built here, so it has no lock")
                    .withHint("'carrel images build' makes one, of the catalog's images"));
  }

  private Optional<ImageLock> lock(Digest root) {
    try {
      return folder.lock(root);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read what " + root + " was built of", e);
    }
  }

  /**
   * Begins to make an image of what a sandbox changed, on top of the layers that it is on; returns
   * at once.
   */
  public Image commit(Caller caller, RootChanges changes, String name) {
    requireAdmin(caller);
    checkName(name);
    Image base = get(changes.image());
    if (base.digest() == null) {
      throw new SandboxException(
              ErrorCode.WRONG_STATE,
              "image %s of sandbox %s has no layers here to build on"
                  .formatted(base.name(), changes.sandbox()))
          .withHint("import it, or start from one that was built or pulled");
    }
    List<Digest> below = below(base, changes.startedAt());
    String origin = "%s on %s".formatted(changes.sandbox(), base.name());
    begin(caller, name, Image.Source.SANDBOX, origin, "image.commit");
    jobs.start(
        name,
        progress -> {
          progress.step("copying the changes");
          return changes.read(upper -> folder.commit(below, upper, changes.size(), progress));
        },
        ending(name));
    return get(name);
  }

  /** One that runs is on what the image was when it started, whatever came under its name since. */
  private List<Digest> below(Image base, @Nullable Instant startedAt) {
    return startedAt == null
        ? base.layers()
        : store.layersAt(base.name(), startedAt).orElse(base.layers());
  }

  /** Writes an image as an archive that both Docker and OCI tools read. */
  public void export(Caller caller, Image image, OutputStream out) throws IOException {
    requireAdmin(caller);
    Digest digest = requireRoot(image);
    note(caller, "image.export", image.name());
    folder.exportArchive(digest, image.name(), Platform.host(), out);
  }

  /** Throws unless it has files of its own that could be exported. */
  public Digest requireRoot(Image image) {
    if (image.digest() == null) {
      throw new SandboxException(
              ErrorCode.WRONG_STATE, "image " + image.name() + " has no files of its own here")
          .withHint("images that were built, pulled or imported have");
    }
    return image.digest();
  }

  /** Removes an image that no sandbox needs, and what only it used. */
  public void delete(Caller caller, String name) {
    requireAdmin(caller);
    Image image = get(name);
    if (image.source() == Image.Source.HOST || image.source() == Image.Source.FOLDER) {
      throw new SandboxException(
              ErrorCode.WRONG_STATE, "image " + image.name() + " is not kept by this server")
          .withHint("the operator names folders under sandbox.images");
    }
    if (needed().contains(image.name())) {
      throw new SandboxException(
              ErrorCode.WRONG_STATE,
              "image " + image.name() + " is the default one, or has a pool of warm sandboxes")
          .withHint("change default_image or pool.sizes first");
    }
    jobs.requireIdle(image.name());
    if (image.status() == Image.Status.AVAILABLE) {
      throw new SandboxException(
          ErrorCode.WRONG_STATE,
          "image " + image.name() + " is not built, so nothing is to remove");
    }
    Reserve.forRemoval(
        () -> {
          store.delete(image, Instant.now());
          note(caller, "image.delete", image.name());
          changed();
          jobs.alone(this::sweep);
        });
  }

  /**
   * Removes what failed and what nobody refers to any more.
   *
   * @param unused also images that no sandbox is on
   */
  public Pruned prune(Caller caller, boolean unused) {
    requireAdmin(caller);
    return Reserve.ofRemoval(() -> pruned(caller, unused));
  }

  private Pruned pruned(Caller caller, boolean unused) {
    var removed = new ArrayList<String>();
    for (Image image : store.list()) {
      boolean broken = image.digest() == null && image.status() == Image.Status.FAILED;
      boolean idle = unused && !store.used(image.name()) && !needed().contains(image.name());
      if ((broken || idle) && !jobs.busy(image.name())) {
        store.delete(image, Instant.now());
        note(caller, "image.delete", image.name());
        removed.add(image.name());
      }
    }
    changed();
    long freed =
        jobs.alone(this::sweep)
            .orElseThrow(
                () ->
                    new SandboxException(
                            ErrorCode.WRONG_STATE, "images are being built or pulled just now")
                        .withHint("try again when they are done"));
    return new Pruned(List.copyOf(removed), freed);
  }

  /** How far the work on an image is; waits for more than was seen, at most for a while. */
  public ImageProgress progress(String name, ImageProgress seen, Duration patience)
      throws InterruptedException {
    return jobs.progress(get(name).name(), seen, patience);
  }

  /** What the last work on it said. */
  public String log(String name) {
    return jobs.log(get(name).name());
  }

  /** Ends the work that is under way; the next start says that it failed. */
  @Override
  public void close() {
    jobs.close();
  }

  private void begin(
      Caller caller, String name, Image.Source source, String origin, String action) {
    jobs.reserve(name);
    try {
      store.begin(name, source, origin, Instant.now());
      note(caller, action, name);
    } catch (RuntimeException e) {
      jobs.release(name);
      throw e;
    }
  }

  private ImageJobs.Ending ending(String name) {
    return new ImageJobs.Ending() {
      @Override
      public void ready(ImageFolder.Stored stored) {
        store.ready(name, stored, Instant.now());
        changed();
      }

      @Override
      public void failed(SandboxException why) {
        store.failed(name, why.message(), Instant.now());
        changed();
      }
    };
  }

  private long sweep() {
    var roots = new HashSet<Digest>();
    var layers = new HashSet<Digest>();
    for (Image image : store.list()) {
      if (image.digest() != null) {
        roots.add(image.digest());
        layers.addAll(image.layers());
      }
    }
    for (ImageStore.Retired old : store.retired(Instant.now())) {
      roots.add(old.digest());
      layers.addAll(old.layers());
    }
    try {
      return folder.sweep(roots, layers);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot remove files of images", e);
    }
  }

  private Set<String> needed() {
    var names = new TreeSet<>(pooled.get());
    names.add(settings.get().defaultImage());
    return names;
  }

  private void changed() {
    refresh();
    listeners.forEach(Runnable::run);
  }

  private void refresh() {
    ready =
        store.list().stream()
            .filter(image -> image.digest() != null)
            .collect(Collectors.toUnmodifiableMap(Image::name, image -> image));
  }

  private Image outside(String name, Image.Source source, Path root) {
    return new Image(
        name,
        source,
        root.toString(),
        Files.isDirectory(root) ? Image.Status.READY : Image.Status.FAILED,
        null,
        List.of(),
        0,
        seen.computeIfAbsent(root, Images::languages),
        null,
        Instant.EPOCH,
        Instant.EPOCH);
  }

  private static Image unbuilt(Recipe recipe) {
    return new Image(
        recipe.name(),
        Image.Source.CATALOG,
        recipe.description(),
        Image.Status.AVAILABLE,
        null,
        List.of(),
        0,
        Set.of(),
        null,
        Instant.EPOCH,
        Instant.EPOCH);
  }

  private static Set<Language> languages(Path root) {
    try {
      return Interpreters.in(root);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot look into " + root, e);
    }
  }

  private void checkName(String name) {
    if (name.length() > MAX_NAME || !NAME.matcher(name).matches()) {
      throw SandboxException.invalid(
          "name", "must be such as tools or team/tools:2, and is " + Text.printable(name, 100));
    }
    if (name.equals(SandboxSettings.HOST_IMAGE) || settings.get().images().containsKey(name)) {
      throw SandboxException.invalid("name", name + " is an image of the settings");
    }
    if (catalog.containsKey(name)) {
      throw SandboxException.invalid("name", name + " is an image of the catalog");
    }
  }

  private static String canonical(String asked) {
    try {
      return Reference.parse(asked).toString();
    } catch (SandboxException notOne) {
      return asked;
    }
  }

  private void note(Caller caller, String action, String subject) {
    journal.done(caller, caller.tenant(), Namespace.DEFAULT, null, action, subject);
  }

  private static void requireAdmin(Caller caller) {
    if (caller.role() != Caller.Role.ADMIN) {
      throw new SandboxException(
              ErrorCode.FORBIDDEN, "only an administrator may change images: all tenants use them")
          .withHint("use the token of the server's own token file");
    }
  }

  /** What was removed, and bytes of files that went with it. */
  public record Pruned(List<String> removed, long freedBytes) {}
}
