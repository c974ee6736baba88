package dev.carrel.spi;

import java.nio.file.Path;

/** What a sandbox sees as its root, always read-only. */
public sealed interface RootImage {
  /** The host's own /usr with a minimal /etc of ours; nothing of /root, /home or /var. */
  record Host() implements RootImage {}

  /** A folder that holds a root file system. */
  record Folder(Path path) implements RootImage {}
}
