package dev.carrel.guest;

import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * A file to be written.
 *
 * @param mode permission bits; empty means those of the file that is replaced, or 0644
 * @param append to the end of what is there, instead of replacing it in one step
 * @param parents whether missing folders are made
 * @param ifAbsent whether an existing file is an error
 * @param size expected bytes, so that lack of space shows before they are sent
 * @param attributes kept beside the bytes until the file is written anew; not with {@code append}
 */
public record FileWrite(
    String path,
    OptionalInt mode,
    boolean append,
    boolean parents,
    boolean ifAbsent,
    OptionalLong size,
    Map<String, String> attributes) {

  public FileWrite {
    attributes = Map.copyOf(attributes);
    mode.ifPresent(bits -> Checks.range("mode", bits, 0, 0777));
  }

  public static FileWrite to(String path) {
    return new FileWrite(
        path, OptionalInt.empty(), false, true, false, OptionalLong.empty(), Map.of());
  }

  public FileWrite withMode(int newMode) {
    return new FileWrite(
        path, OptionalInt.of(newMode), append, parents, ifAbsent, size, attributes);
  }

  public FileWrite withAppend(boolean newAppend) {
    return new FileWrite(path, mode, newAppend, parents, ifAbsent, size, attributes);
  }

  public FileWrite withParents(boolean newParents) {
    return new FileWrite(path, mode, append, newParents, ifAbsent, size, attributes);
  }

  public FileWrite withIfAbsent(boolean newIfAbsent) {
    return new FileWrite(path, mode, append, parents, newIfAbsent, size, attributes);
  }

  public FileWrite withSize(long newSize) {
    return new FileWrite(
        path, mode, append, parents, ifAbsent, OptionalLong.of(newSize), attributes);
  }

  public FileWrite withAttributes(Map<String, String> newAttributes) {
    return new FileWrite(path, mode, append, parents, ifAbsent, size, newAttributes);
  }
}
