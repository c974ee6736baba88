package dev.carrel.e2e.chaos;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** Everything the clients were told, across all lives of the server. */
final class Ledger {
  private final Map<String, KnownBox> boxes = new ConcurrentHashMap<>();
  private final Set<String> ids = ConcurrentHashMap.newKeySet();
  private final Map<String, LongAdder> answers = new ConcurrentHashMap<>();
  private final LongAdder total = new LongAdder();
  private final Queue<String> surprises = new ConcurrentLinkedQueue<>();

  void created(KnownBox box) {
    ids.add(box.id());
    boxes.put(box.id(), box);
  }

  /** An id that was seen anywhere: nothing of it may be left at the end. */
  void seen(String id) {
    ids.add(id);
  }

  Set<String> ids() {
    return Set.copyOf(ids);
  }

  Collection<KnownBox> boxes() {
    return List.copyOf(boxes.values());
  }

  boolean knows(String id) {
    return boxes.containsKey(id);
  }

  void forget(KnownBox box) {
    boxes.remove(box.id());
  }

  /** One that nobody has asked to delete. */
  @Nullable KnownBox any(Random random) {
    List<KnownBox> choice =
        boxes.values().stream()
            .filter(box -> box.removal() == KnownBox.Removal.NOT_ASKED)
            .sorted(Comparator.comparing(KnownBox::id))
            .toList();
    return choice.isEmpty() ? null : choice.get(random.nextInt(choice.size()));
  }

  long alive() {
    return boxes.values().stream()
        .filter(box -> box.removal() == KnownBox.Removal.NOT_ASKED)
        .count();
  }

  void answered(String what) {
    answers.computeIfAbsent(what, _ -> new LongAdder()).increment();
    total.increment();
  }

  long answers() {
    return total.sum();
  }

  /** What must never happen, seen while nobody could stop to complain. */
  void surprise(String what) {
    surprises.add(what);
  }

  List<String> surprises() {
    return List.copyOf(surprises);
  }

  @Override
  public String toString() {
    return new TreeMap<>(answers).toString();
  }
}
