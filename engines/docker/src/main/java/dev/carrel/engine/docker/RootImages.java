package dev.carrel.engine.docker;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/** The daemon's images of skeletons: a few kilobytes each, made once. */
final class RootImages {
  private static final String REPOSITORY = "carrel-root";
  private static final String LABEL = "dev.carrel.root=1";

  private final Daemon daemon;
  private final Set<String> there = ConcurrentHashMap.newKeySet();
  private final ReentrantLock making = new ReentrantLock();

  RootImages(Daemon daemon) {
    this.daemon = daemon;
  }

  /** The name of the image that has this skeleton. */
  String of(Path skeleton) throws IOException {
    RootLayer layer = RootLayer.of(skeleton);
    String name = REPOSITORY + ":" + layer.digest();
    if (there.contains(name)) {
      return name;
    }
    making.lock();
    try {
      if (!daemon.hasImage(name)) {
        daemon.importImage(name, layer.tar(), LABEL);
      }
      there.add(name);
      return name;
    } finally {
      making.unlock();
    }
  }

  /** Somebody removed an image that was there; the next machine makes it anew. */
  void forget(String name) {
    there.remove(name);
  }
}
