package dev.carrel.image;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;

/** Names as a process sees them whose root is a certain folder: no link leads out of it. */
final class InRoot {
  private static final int MAX_LINKS = 40;

  private InRoot() {}

  /** What a path leads to in the end, as a path without links; empty when that is nothing. */
  static Optional<Path> resolve(Path root, String path) throws IOException {
    Deque<String> todo = new ArrayDeque<>();
    push(todo, path);
    Path at = root;
    int links = 0;
    while (!todo.isEmpty()) {
      String name = todo.pop();
      if (name.equals("..")) {
        at = at.equals(root) ? root : at.resolveSibling("").normalize();
        continue;
      }
      Path next = at.resolve(name);
      if (Files.isSymbolicLink(next)) {
        if (++links > MAX_LINKS) {
          return Optional.empty();
        }
        String target = Files.readSymbolicLink(next).toString();
        at = target.startsWith("/") ? root : at;
        push(todo, target);
      } else if (Folder.look(next) == null) {
        return Optional.empty();
      } else {
        at = next;
      }
    }
    return Optional.of(at);
  }

  private static void push(Deque<String> todo, String path) {
    String[] names = path.split("/", -1);
    for (int i = names.length - 1; i >= 0; i--) {
      if (!names[i].isEmpty() && !names[i].equals(".")) {
        todo.push(names[i]);
      }
    }
  }
}
