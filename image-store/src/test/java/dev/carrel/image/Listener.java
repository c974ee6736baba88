package dev.carrel.image;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Remembers what it is told. */
final class Listener implements Progress {
  private final List<String> steps = new CopyOnWriteArrayList<>();
  private final List<String> lines = new CopyOnWriteArrayList<>();

  List<String> steps() {
    return steps;
  }

  List<String> lines() {
    return lines;
  }

  @Override
  public void step(String what) {
    steps.add(what);
  }

  @Override
  public void at(long done, long total) {}

  @Override
  public void log(String line) {
    lines.add(line);
  }
}
