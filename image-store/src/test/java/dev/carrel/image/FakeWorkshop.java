package dev.carrel.image;

import dev.carrel.spi.Workshop;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** A container that runs nothing: it has a few files and says a few lines. */
final class FakeWorkshop implements Workshop {
  /** By path, each as a tar. */
  private final Map<String, byte[]> tars;

  private final byte[] exported;
  private final int status;
  private final Optional<String> problem;
  private final AtomicInteger open = new AtomicInteger();

  FakeWorkshop(Map<String, byte[]> tars, byte[] exported, int status) {
    this(tars, exported, status, Optional.empty());
  }

  private FakeWorkshop(
      Map<String, byte[]> tars, byte[] exported, int status, Optional<String> problem) {
    this.tars = Map.copyOf(tars);
    this.exported = exported.clone();
    this.status = status;
    this.problem = problem;
  }

  static FakeWorkshop broken(String problem) {
    return new FakeWorkshop(Map.of(), new byte[0], 0, Optional.of(problem));
  }

  static FakeWorkshop idle() {
    return new FakeWorkshop(Map.of(), new byte[0], 0);
  }

  int open() {
    return open.get();
  }

  @Override
  public String name() {
    return "docker";
  }

  @Override
  public Optional<String> problem() {
    return problem;
  }

  @Override
  public Bench open(Task task, Consumer<String> said) {
    open.incrementAndGet();
    return new FakeBench();
  }

  @Override
  public void sweep() {}

  private final class FakeBench implements Bench {
    private String kit = "";

    @Override
    public Optional<InputStream> read(String path) {
      return Optional.ofNullable(tars.get(path)).map(ByteArrayInputStream::new);
    }

    @Override
    public void write(byte[] tar) {
      kit = new String(tar, StandardCharsets.ISO_8859_1);
    }

    @Override
    public int run(Consumer<String> said, Duration most) {
      kit.replace('\0', '\n').lines().filter(line -> line.startsWith("deb ")).forEach(said);
      said.accept("I: a step");
      return status;
    }

    @Override
    public InputStream export() {
      return new ByteArrayInputStream(exported);
    }

    @Override
    public void close() {
      open.decrementAndGet();
    }
  }
}
