package dev.carrel.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.FileSystemException;
import org.junit.jupiter.api.Test;

final class SandboxExceptionTest {
  @Test
  void whatFailedForWantOfADescriptorSaysWhatToDo() {
    var cause = new FileSystemException("/some/file", null, "Too many open files");
    var failure = new SandboxException(ErrorCode.ENGINE_FAILED, "no", new IOException(cause));

    assertThat(failure.hint()).hasValueSatisfying(hint -> assertThat(hint).contains("ulimit -n"));
    assertThat(failure.withHint("another").hint()).contains("another");
    assertThat(new SandboxException(ErrorCode.ENGINE_FAILED, "no", new IOException("other")).hint())
        .isEmpty();
  }
}
