package dev.carrel.engine.namespaces;

import dev.carrel.engine.host.VolumeLoan;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.VolumeId;
import dev.carrel.spi.Volumes;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;

/** The image files that the spawn server keeps. */
final class NativeVolumes implements Volumes {
  private final SpawnServer server;
  private final EngineSettings settings;

  NativeVolumes(SpawnServer server, EngineSettings settings) {
    this.server = server;
    this.settings = settings;
  }

  @Override
  public void copy(VolumeId from, VolumeId to) {
    ask(
        "copy volume",
        Frame.of(Frame.VOLUME_COPY)
            .with(Frame.VOLUME, from.value())
            .with(Frame.TARGET, to.value()));
  }

  @Override
  public void remove(VolumeId id) {
    // A machine that was discarded has taken it along.
    if (Files.notExists(settings.volumeDirectory().resolve(id + ".img"))) {
      return;
    }
    ask("remove volume", Frame.of(Frame.VOLUME_REMOVE).with(Frame.VOLUME, id.value()));
  }

  @Override
  public List<VolumeId> list() {
    return ask("list volumes", Frame.of(Frame.VOLUMES)).stream()
        .map(answer -> new VolumeId(answer.text(Frame.VOLUME)))
        .toList();
  }

  @Override
  public long usedBytes(VolumeId id) {
    List<Frame> found =
        ask("measure volume", Frame.of(Frame.VOLUMES).with(Frame.VOLUME, id.value()));
    if (found.isEmpty()) {
      throw new SandboxException(ErrorCode.VOLUME_NOT_FOUND, "no volume " + id);
    }
    return found.getFirst().findNumber(Frame.ON_DISK).orElse(0L);
  }

  @Override
  public <T> T readChanges(VolumeId id, ChangesReader<T> reader)
      throws IOException, InterruptedException {
    // volume_open makes what is not there.
    usedBytes(id);
    try (VolumeLoan loan = VolumeLoan.of(settings, id)) {
      return reader.read(loan.upper());
    }
  }

  /** The listed answers, when the last one is good. */
  private List<Frame> ask(String doing, Frame request) {
    List<Frame> answers;
    try {
      answers = server.ask(request);
    } catch (IOException e) {
      throw new SandboxException(ErrorCode.ENGINE_FAILED, doing + ": " + e.getMessage(), e);
    }
    Frame last = answers.getLast();
    if (last.type() == Frame.FAILED) {
      throw last.text(Frame.KIND).equals("not_found")
          ? new SandboxException(
              ErrorCode.VOLUME_NOT_FOUND, doing + ": " + last.text(Frame.MESSAGE))
          : NativeEngine.failure(doing, last);
    }
    return answers.subList(0, answers.size() - 1);
  }
}
