package dev.carrel.server.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class AppOutputTest {
  private static final int MORE_THAN_FITS = 4 << 20;

  @Test
  void anAppThatTakesNothingIsHungUpOn() throws IOException {
    Pipe pipe = Pipe.open();
    try (var _ = pipe.source();
        var sink = pipe.sink()) {
      var output = new AppOutput(sink, Duration.ofMillis(200));
      assertThatThrownBy(() -> output.write(new byte[MORE_THAN_FITS]))
          .isInstanceOf(IOException.class);
      assertThat(sink.isOpen()).isFalse();
    }
  }

  @Test
  void anAppThatTakesItAllGetsItAll() throws Exception {
    Pipe pipe = Pipe.open();
    try (var source = pipe.source();
        var sink = pipe.sink()) {
      Thread reader =
          Thread.startVirtualThread(
              () -> {
                var all = ByteBuffer.allocate(MORE_THAN_FITS);
                try {
                  while (all.hasRemaining() && source.read(all) >= 0) {}
                } catch (IOException e) {
                  throw new AssertionError(e);
                }
              });
      new AppOutput(sink, Duration.ofSeconds(20)).write(new byte[MORE_THAN_FITS]);
      reader.join();
      assertThat(sink.isOpen()).isTrue();
    }
  }
}
