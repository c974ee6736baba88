package dev.carrel.control.transfer;

import dev.carrel.control.egress.Gates;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.web.WebAddress;
import dev.carrel.egress.Fetch;
import dev.carrel.egress.FetchException;
import dev.carrel.egress.Gate;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.Semaphore;

/**
 * Fetches a file from the web as its sandbox would: each hop is judged by the sandbox's policy,
 * resolved and checked. Safe for many threads.
 */
final class Download {
  private static final Duration PATIENCE = Duration.ofMinutes(5);
  private static final int MAX_HOPS = 5;

  /** What is fetched is in memory for a while. */
  private static final int AT_ONCE = 4;

  private final Gates gates;
  private final int most;
  private final Semaphore room = new Semaphore(AT_ONCE);

  Download(Gates gates, TransferSettings settings) {
    this.gates = gates;
    this.most = (int) Math.min(settings.maxFetch().bytes(), Integer.MAX_VALUE - 8);
  }

  byte[] get(Sandbox sandbox, String address) throws InterruptedException {
    URI uri = WebAddress.parse(address);
    room.acquire();
    try {
      return get(gates.of(sandbox), uri);
    } finally {
      room.release();
    }
  }

  private byte[] get(Gate gate, URI first) throws InterruptedException {
    URI uri = first;
    for (int hop = 0; hop <= MAX_HOPS; hop++) {
      Fetch.Answer answer;
      try {
        answer = gates.fetch().get(gate, uri, most, PATIENCE);
      } catch (FetchException e) {
        throw new SandboxException(
                e.denied() ? ErrorCode.EGRESS_DENIED : ErrorCode.WEB_FAILED,
                String.valueOf(e.getMessage()),
                e)
            .withHint(e.hint());
      }
      if (answer.location() != null) {
        uri = WebAddress.next(uri, answer.location());
        continue;
      }
      if (answer.status() != 200) {
        throw new SandboxException(
            ErrorCode.WEB_FAILED, uri + " answered with status " + answer.status());
      }
      if (answer.cut()) {
        throw new SandboxException(ErrorCode.TOO_LARGE, uri + " has more than " + most + " bytes")
            .withHint("fetch it inside the sandbox, or raise import.max-fetch");
      }
      return answer.body();
    }
    throw new SandboxException(
        ErrorCode.WEB_FAILED, first + " leads to more than " + MAX_HOPS + " other addresses");
  }
}
