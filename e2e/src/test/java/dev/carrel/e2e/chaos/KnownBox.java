package dev.carrel.e2e.chaos;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What the clients know of one sandbox from the answers they got. A request whose answer never came
 * may have happened or not, so most things are sets of what may be. Safe for many threads.
 */
final class KnownBox {
  /** How sure the clients are that a sandbox was removed. */
  enum Removal {
    NOT_ASKED,
    ASKED,
    ANSWERED
  }

  /** Stands among the contents of what need not exist. */
  static final String ABSENT = "(absent)";

  /**
   * Stands for any content: of what a fork has from others it is not known what they had written.
   */
  private static final String ANYTHING = "(anything)";

  private static final String NO_BEGINNING = "/";

  private final String id;
  private final boolean persistent;
  private final @Nullable String forker;
  private final Map<String, Set<String>> files = new HashMap<>();
  private final Map<String, Set<String>> variables = new HashMap<>();
  private final Set<String> statuses = new HashSet<>(Set.of("running"));
  private Removal removal = Removal.NOT_ASKED;
  private boolean machineMayHaveEnded;

  KnownBox(String id, boolean persistent) {
    this(id, persistent, null);
  }

  private KnownBox(String id, boolean persistent, @Nullable String forker) {
    this.id = id;
    this.persistent = persistent;
    this.forker = forker;
  }

  /**
   * A fork of this one, with the files of everybody. Its maker knows what its own are, which begin
   * so, unless this one is a fork of somebody else.
   */
  KnownBox fork(String id, String maker) {
    return new KnownBox(
        id, persistent, forker == null || forker.equals(maker) ? maker : NO_BEGINNING);
  }

  static boolean fits(Set<String> contents, String content) {
    return contents.contains(content) || contents.contains(ANYTHING);
  }

  String id() {
    return id;
  }

  String path() {
    return "/api/v1/sandboxes/" + id;
  }

  boolean persistent() {
    return persistent;
  }

  /** A write is on its way: from now on the file may have the new content. */
  synchronized void writing(String file, String content) {
    boolean inherited = forker != null && !file.startsWith(forker);
    may(files, file, content, inherited ? ANYTHING : ABSENT);
  }

  /** The write was acknowledged: the file has this content and no other. */
  synchronized void written(String file, String content) {
    must(files, file, content);
  }

  /** The same for a variable of the Python interpreter. */
  synchronized void setting(String variable, String value) {
    may(variables, variable, value, ABSENT);
  }

  synchronized void set(String variable, String value) {
    must(variables, variable, value);
  }

  /** What is known of each file; nothing when they may be gone with a machine. */
  synchronized Map<String, Set<String>> files() {
    return persistent || !machineMayHaveEnded ? copy(files) : Map.of();
  }

  synchronized Map<String, Set<String>> variables() {
    return machineMayHaveEnded ? Map.of() : copy(variables);
  }

  /** Before something that may end the machine, and with it all that is not in a volume. */
  synchronized void machineMayEnd() {
    machineMayHaveEnded = true;
  }

  /** Before something that may bring it into a status. */
  synchronized void mayBecome(String status) {
    statuses.add(status);
  }

  synchronized boolean mayBe(String status) {
    return statuses.contains(status);
  }

  /** Nobody acts on it now and it was seen to run: what is known starts from here. */
  synchronized void settled() {
    statuses.clear();
    statuses.add("running");
    if (machineMayHaveEnded) {
      variables.clear();
      if (!persistent) {
        files.clear();
      }
      machineMayHaveEnded = false;
    }
  }

  synchronized Removal removal() {
    return removal;
  }

  synchronized void removing() {
    if (removal == Removal.NOT_ASKED) {
      removal = Removal.ASKED;
    }
  }

  synchronized void removed() {
    removal = Removal.ANSWERED;
  }

  @Override
  public synchronized String toString() {
    return "%s (may be %s, removal %s)".formatted(id, statuses, removal);
  }

  private static void may(
      Map<String, Set<String>> known, String name, String value, String before) {
    known.computeIfAbsent(name, _ -> new HashSet<>(Set.of(before))).add(value);
  }

  private static void must(Map<String, Set<String>> known, String name, String value) {
    Set<String> values = Objects.requireNonNull(known.get(name));
    values.clear();
    values.add(value);
  }

  private static Map<String, Set<String>> copy(Map<String, Set<String>> known) {
    Map<String, Set<String>> copy = new HashMap<>();
    known.forEach((name, values) -> copy.put(name, Set.copyOf(values)));
    return copy;
  }
}
