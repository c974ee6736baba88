package dev.carrel.server.mcp;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/** The resources whose changes one client wants to hear of. Safe for many threads. */
final class Subscriptions implements AutoCloseable {
  private static final int MAX = 256;

  private final Map<String, Catalog.Listening> watching = new HashMap<>();
  private boolean closed;

  /**
   * @param updated told the address when something about it is only known by looking
   */
  void add(Catalog catalog, Call call, String uri, Consumer<String> updated) throws Exception {
    synchronized (this) {
      if (watching.containsKey(uri)) {
        return;
      }
      if (watching.size() >= MAX) {
        throw RpcError.invalidParams("at most " + MAX + " resources can be watched");
      }
    }
    // Asks the sandbox, which may take its time: nobody waits for that.
    Catalog.Listening listening = catalog.watch(call, uri, () -> updated.accept(uri));
    boolean kept;
    synchronized (this) {
      kept = !closed && watching.size() < MAX && watching.putIfAbsent(uri, listening) == null;
    }
    if (!kept) {
      listening.close();
    }
  }

  void remove(String uri) {
    Catalog.Listening listening;
    synchronized (this) {
      listening = watching.remove(uri);
    }
    if (listening != null) {
      listening.close();
    }
  }

  synchronized Set<String> uris() {
    return Set.copyOf(watching.keySet());
  }

  @Override
  public void close() {
    Map<String, Catalog.Listening> left;
    synchronized (this) {
      closed = true;
      left = Map.copyOf(watching);
      watching.clear();
    }
    left.values().forEach(Catalog.Listening::close);
  }
}
