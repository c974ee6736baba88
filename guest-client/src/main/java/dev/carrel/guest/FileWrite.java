package dev.carrel.guest;

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
 */
public record FileWrite(
    String path,
    OptionalInt mode,
    boolean append,
    boolean parents,
    boolean ifAbsent,
    OptionalLong size) {

  public FileWrite {
    mode.ifPresent(bits -> Checks.range("mode", bits, 0, 0777));
  }

  public static FileWrite to(String path) {
    return new FileWrite(path, OptionalInt.empty(), false, true, false, OptionalLong.empty());
  }

  public FileWrite withMode(int newMode) {
    return new FileWrite(path, OptionalInt.of(newMode), append, parents, ifAbsent, size);
  }

  public FileWrite withAppend(boolean newAppend) {
    return new FileWrite(path, mode, newAppend, parents, ifAbsent, size);
  }

  public FileWrite withParents(boolean newParents) {
    return new FileWrite(path, mode, append, newParents, ifAbsent, size);
  }

  public FileWrite withIfAbsent(boolean newIfAbsent) {
    return new FileWrite(path, mode, append, parents, newIfAbsent, size);
  }

  public FileWrite withSize(long newSize) {
    return new FileWrite(path, mode, append, parents, ifAbsent, OptionalLong.of(newSize));
  }
}
