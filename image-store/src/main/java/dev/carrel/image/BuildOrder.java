package dev.carrel.image;

import org.jspecify.annotations.Nullable;

/**
 * What a build has to keep to.
 *
 * @param snapshot where packages come from; null: where the lock or the recipe says, else the
 *     host's own sources
 * @param lock what exactly to install; null: what the sources have newest
 */
public record BuildOrder(@Nullable Snapshot snapshot, @Nullable ImageLock lock) {
  /** The newest of everything. */
  public static final BuildOrder NEWEST = new BuildOrder(null, null);

  @Nullable Snapshot snapshotOf(Recipe recipe) {
    if (snapshot != null) {
      return snapshot;
    }
    return lock != null && lock.snapshot() != null ? lock.snapshot() : recipe.snapshot();
  }
}
