package dev.carrel.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpRequest.BodyPublishers;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Output and files far larger than anything that is kept in memory. */
@Timeout(300)
@ExtendWith(SharedServer.class)
class BigOutputTest {
  private static final long SIZE = 192L * 1024 * 1024;
  private static final long GROWTH = 64L * 1024 * 1024;

  private final LiveServer server;

  BigOutputTest(LiveServer server) {
    this.server = server;
  }

  @Test
  void liveOutputIsWholeAndTheHeapStaysFlat() throws IOException {
    String sandbox = server.sandbox();
    long before = usedHeap();
    var request =
        server
            .request(
                "POST",
                sandbox + "/exec?encoding=base64",
                BodyPublishers.ofString("{\"command\":\"head -c " + SIZE + " /dev/zero\"}"))
            .header("Accept", "text/event-stream")
            .build();
    long peak = 0;
    long characters = 0;
    byte[] piece = new byte[256 * 1024];
    long sampled = 0;
    try (InputStream body = server.stream(request).body()) {
      for (int count; (count = body.read(piece)) >= 0; ) {
        characters += count;
        if (characters - sampled > SIZE / 4) {
          sampled = characters;
          peak = Math.max(peak, usedHeap());
        }
      }
    }
    assertThat(characters).isGreaterThan(SIZE * 4 / 3);
    assertThat(peak - before).isLessThan(GROWTH);
    var exec = server.get(sandbox + "/execs").json().get("execs").get(0);
    assertThat(exec.get("output_bytes").asLong()).isEqualTo(SIZE);
    assertThat(exec.get("exit_code").asInt()).isZero();
  }

  @Test
  void aBigFileIsStreamedBothWays() throws IOException {
    String sandbox = server.sandbox();
    long before = usedHeap();
    var put =
        server
            .request("PUT", sandbox + "/files/big", BodyPublishers.ofInputStream(() -> zeros(SIZE)))
            .build();
    assertThat(server.send(put).status()).isEqualTo(204);
    long count = 0;
    byte[] piece = new byte[256 * 1024];
    try (InputStream body =
        server.stream(
                server.request("GET", sandbox + "/files/big", BodyPublishers.noBody()).build())
            .body()) {
      for (int read; (read = body.read(piece)) >= 0; ) {
        count += read;
      }
    }
    assertThat(count).isEqualTo(SIZE);
    assertThat(usedHeap() - before).isLessThan(GROWTH);
  }

  private static InputStream zeros(long size) {
    return new InputStream() {
      private long left = size;

      @Override
      public int read() {
        return left-- > 0 ? 0 : -1;
      }

      @Override
      public int read(byte[] bytes, int offset, int length) {
        if (left <= 0) {
          return -1;
        }
        int count = (int) Math.min(left, length);
        left -= count;
        return count;
      }
    };
  }

  private static long usedHeap() {
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }
}
