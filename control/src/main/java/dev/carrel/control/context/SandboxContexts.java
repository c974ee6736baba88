package dev.carrel.control.context;

import dev.carrel.spi.ContextId;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The contexts of one sandbox. */
final class SandboxContexts {
  private final SandboxId sandbox;
  private final int max;
  private final Map<ContextId, LiveContext> all = new LinkedHashMap<>();

  SandboxContexts(SandboxId sandbox, int max) {
    this.sandbox = sandbox;
    this.max = max;
  }

  synchronized LiveContext add(CreateContext request) {
    return add(request, false);
  }

  /** The one that code without a context id runs in; made when there is none. */
  synchronized LiveContext defaultFor(Language language) {
    for (LiveContext context : all.values()) {
      if (context.isDefault() && context.language() == language) {
        return context;
      }
    }
    return add(CreateContext.of(language), true);
  }

  /** Returns the one that is there already, if there is. */
  synchronized LiveContext adopt(LiveContext context) {
    context.adopted();
    LiveContext known = all.putIfAbsent(context.id(), context);
    return known == null ? context : known;
  }

  synchronized @Nullable LiveContext find(ContextId id) {
    return all.get(id);
  }

  synchronized List<LiveContext> list() {
    return List.copyOf(all.values());
  }

  synchronized void remove(LiveContext context) {
    all.remove(context.id());
  }

  private LiveContext add(CreateContext request, boolean isDefault) {
    if (all.size() >= max) {
      throw new SandboxException(
              ErrorCode.LIMIT_REACHED,
              "sandbox %s has %d contexts, the most it may have".formatted(sandbox, max))
          .withHint("delete one, or raise context.max-contexts");
    }
    var context =
        new LiveContext(ContextId.random(), sandbox, request, isDefault, Instant.now(), 0);
    all.put(context.id(), context);
    return context;
  }
}
