package dev.carrel.engine.docker;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.spi.DaemonSettings;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Limits;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.Rootfs;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import dev.carrel.spi.WarmSettings;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class WritableRootTest {
  @ParameterizedTest
  @EnumSource(Kind.class)
  void isRefusedWithTheReasonBeforeADaemonIsAsked(Kind kind, @TempDir Path folder) {
    var engine =
        new DockerEngine(
            kind,
            new EngineSettings(
                folder, folder, folder, Set.of(), WarmSettings.defaults(), DaemonSettings.usual()));
    var limits = new Limits(DataSize.ofMebibytes(64), 1, 64, DataSize.ofMebibytes(16), 256);
    var image = new RootImage.Folder(folder);
    var spec = new MachineSpec(image, limits, null, VolumeId.random(), false, Rootfs.OVERLAY);

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> engine.start(SandboxId.random(), spec))
        .withMessageContaining("limit the size")
        .withMessageContaining("use engine native")
        .matches(e -> e.code() == ErrorCode.NOT_SUPPORTED);
    engine.close();
  }
}
