package dev.carrel.control.transfer;

import dev.carrel.control.egress.Gates;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.store.Spool;
import dev.carrel.control.web.WebAddress;
import dev.carrel.egress.Fetch;
import dev.carrel.egress.FetchException;
import dev.carrel.egress.Gate;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.zip.GZIPInputStream;

/**
 * Fetches a file from the web as its sandbox would: each hop is judged by the sandbox's policy,
 * resolved and checked. Safe for many threads.
 */
final class Download {
  private static final Duration PATIENCE = Duration.ofMinutes(5);
  private static final int MAX_HOPS = 5;

  private final Gates gates;
  private final Spool spool;
  private final long most;

  Download(Gates gates, TransferSettings settings, Spool spool) {
    this.gates = gates;
    this.spool = spool;
    this.most = settings.maxFetch().bytes();
  }

  /**
   * On the disk: in memory, a few at once would be all of it.
   *
   * @param into gets what is there
   */
  void save(Sandbox sandbox, String address, Path into) throws IOException, InterruptedException {
    URI first = WebAddress.parse(address);
    Gate gate = gates.of(sandbox);
    URI uri = first;
    for (int hop = 0; hop <= MAX_HOPS; hop++) {
      Fetch.Answer answer = save(gate, uri, into);
      if (answer.location() != null) {
        uri = WebAddress.next(uri, answer.location());
        continue;
      }
      if (answer.status() != 200) {
        throw new SandboxException(
            ErrorCode.WEB_FAILED, uri + " answered with status " + answer.status());
      }
      if (answer.packed()) {
        unpack(uri, into);
      }
      return;
    }
    throw new SandboxException(
        ErrorCode.WEB_FAILED, first + " leads to more than " + MAX_HOPS + " other addresses");
  }

  private Fetch.Answer save(Gate gate, URI uri, Path into)
      throws IOException, InterruptedException {
    try (var bounded = new Bounded(Files.newOutputStream(into), most)) {
      try {
        return gates.fetch().save(gate, uri, bounded, PATIENCE);
      } catch (FetchException e) {
        if (bounded.full) {
          throw tooLarge(uri);
        }
        throw new SandboxException(
                e.denied() ? ErrorCode.EGRESS_DENIED : ErrorCode.WEB_FAILED,
                String.valueOf(e.getMessage()),
                e)
            .withHint(e.hint());
      }
    }
  }

  /** Some servers pack what they have, whatever they are asked for. */
  private void unpack(URI uri, Path file) throws IOException {
    Path unpacked = spool.create();
    try (InputStream packed = new BufferedInputStream(Files.newInputStream(file));
        var bounded = new Bounded(Files.newOutputStream(unpacked), most)) {
      try (OutputStream out = Channels.newOutputStream(bounded);
          var content = new GZIPInputStream(packed)) {
        content.transferTo(out);
      } catch (IOException e) {
        throw bounded.full
            ? tooLarge(uri)
            : new SandboxException(ErrorCode.WEB_FAILED, uri + " cannot be unpacked: " + e, e);
      }
      Files.move(unpacked, file, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(unpacked);
    }
  }

  private SandboxException tooLarge(URI uri) {
    return new SandboxException(ErrorCode.TOO_LARGE, uri + " has more than " + most + " bytes")
        .withHint("fetch it inside the sandbox, or raise import.max-fetch");
  }

  /** Takes so many bytes and no more. */
  private static final class Bounded implements WritableByteChannel {
    private final WritableByteChannel out;
    private long room;
    private boolean full;

    Bounded(OutputStream out, long most) {
      this.out = Channels.newChannel(out);
      this.room = most;
    }

    @Override
    public int write(ByteBuffer piece) throws IOException {
      if (piece.remaining() > room) {
        full = true;
        throw new IOException("there is no more room");
      }
      int count = out.write(piece);
      room -= count;
      return count;
    }

    @Override
    public boolean isOpen() {
      return out.isOpen();
    }

    @Override
    public void close() throws IOException {
      out.close();
    }
  }
}
