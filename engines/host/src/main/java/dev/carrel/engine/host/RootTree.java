package dev.carrel.engine.host;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A machine's root: a skeleton of folders, links and empty files, and what is bound onto it. The
 * image itself is never written to, and no link of it is followed: an image may be hostile.
 *
 * @param skeleton a folder of the machine's own
 * @param binds all read-only, in the order in which they are made
 */
public record RootTree(Path skeleton, List<Bind> binds) {
  /** Where the server's own programs are inside. */
  public static final String LIB = "/opt/carrel";

  /** Whatever else of a machine's own is seen inside. */
  public static final String OWN = "/run/carrel";

  /** The folder of the guest's socket, inside; commands cannot enter it. */
  public static final String GUEST = OWN + "/guest";

  /** The folder of the proxy's socket, inside. */
  public static final String EGRESS = OWN + "/egress";

  private static final int MAX_ENTRIES = 128;
  private static final List<String> FOLDERS =
      List.of("proc", "dev", "tmp", "workspace", "run", "run/carrel", "opt", "opt/carrel");
  private static final List<String> HOST_PARTS =
      List.of("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32");
  private static final List<String> HOST_FOLDERS =
      List.of(
          "etc", "etc/ssl", "home", "root", "srv", "mnt", "var", "var/lib", "var/log", "var/cache");

  /** Only what programs need to find their own parts: nothing that tells who lives on the host. */
  private static final List<String> HOST_ETC =
      List.of(
          "R",
          "alternatives",
          "fonts",
          "java-25-openjdk",
          "java-21-openjdk",
          "java-17-openjdk",
          "ld.so.cache",
          "ld.so.conf",
          "ld.so.conf.d",
          "localtime",
          "matplotlibrc",
          "mime.types",
          "os-release",
          "python3",
          "python3.11",
          "python3.12",
          "python3.13",
          "services",
          "timezone",
          "ssl/certs",
          "ssl/openssl.cnf");

  /** Made anew for each machine, whatever the image has there. */
  private static final Set<String> OURS =
      Set.of("proc", "sys", "dev", "tmp", "run", "workspace", "opt");

  private static final String PASSWD =
      """
      root:x:0:0:root:/root:/usr/sbin/nologin
      carrel:x:1000:1000:carrel:/workspace:/bin/bash
      nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
      """;
  private static final String GROUP = "root:x:0:\ntty:x:5:\ncarrel:x:1000:\nnogroup:x:65534:\n";
  private static final String NAMES = "passwd: files\ngroup: files\nhosts: files dns\n";

  /** A file or folder of the host at an absolute path of the machine. */
  public record Bind(Path source, String target) {}

  public RootTree {
    binds = List.copyOf(binds);
  }

  /** Makes the skeleton in a folder that does not exist yet. */
  public static RootTree make(Path skeleton, SandboxId id, RootImage image) throws IOException {
    Files.createDirectory(skeleton);
    for (String folder : FOLDERS) {
      Files.createDirectory(skeleton.resolve(folder));
    }
    // Some runtimes give what they mount here the mode of what it covers.
    Files.setAttribute(skeleton.resolve("tmp"), "unix:mode", 01777);
    Files.createDirectory(skeleton.resolve(GUEST.substring(1)));
    Files.createDirectory(skeleton.resolve(EGRESS.substring(1)));
    var binds = new ArrayList<Bind>();
    switch (image) {
      case RootImage.Host() -> host(skeleton, id, binds);
      case RootImage.Folder(Path folder) -> folder(skeleton, id, folder, binds);
    }
    return new RootTree(skeleton, binds);
  }

  /**
   * For a root that the machine may write to, which is not put together here: the skeleton is only
   * what is seen at {@link #OWN}.
   *
   * @return the folder that is written over, as it is on the host
   */
  public static Path writable(Path skeleton, RootImage image) throws IOException {
    if (!(image instanceof RootImage.Folder(Path folder))) {
      throw new SandboxException(
          ErrorCode.NOT_SUPPORTED,
          "start, rootfs: the host's own /usr cannot be a writable root: its files would become"
              + " readable to the sandbox's root");
    }
    requireImage(folder);
    Files.createDirectory(skeleton);
    for (String inside : List.of(GUEST, EGRESS)) {
      Files.createDirectory(skeleton.resolve(inside.substring(OWN.length() + 1)));
    }
    return folder.toAbsolutePath().normalize();
  }

  private static void requireImage(Path image) throws IOException {
    if (!Files.isDirectory(image, LinkOption.NOFOLLOW_LINKS)) {
      throw new SandboxException(
          ErrorCode.IMAGE_NOT_FOUND, "start, image: there is no folder " + image);
    }
    if (Files.isSameFile(image, Path.of("/"))) {
      throw new SandboxException(
          ErrorCode.IMAGE_NOT_FOUND, "start, image: " + image + " is this host's own root");
    }
  }

  private static void host(Path skeleton, SandboxId id, List<Bind> binds) throws IOException {
    for (String folder : HOST_FOLDERS) {
      Files.createDirectory(skeleton.resolve(folder));
    }
    Files.createSymbolicLink(skeleton.resolve("var/tmp"), Path.of("/tmp"));
    Files.createSymbolicLink(skeleton.resolve("var/run"), Path.of("/run"));
    // Where E2B's clients, and what is written for them, look for files.
    Files.createSymbolicLink(skeleton.resolve("home/user"), Path.of("/workspace"));
    Path root = Path.of("/");
    for (String part : HOST_PARTS) {
      bring(root, part, skeleton, binds);
    }
    Files.writeString(skeleton.resolve("etc/passwd"), PASSWD);
    Files.writeString(skeleton.resolve("etc/group"), GROUP);
    Files.writeString(skeleton.resolve("etc/nsswitch.conf"), NAMES);
    Files.writeString(skeleton.resolve("etc/hosts"), hosts(id));
    Files.writeString(skeleton.resolve("etc/hostname"), id + "\n");
    Files.createFile(skeleton.resolve("etc/resolv.conf"));
    for (String name : HOST_ETC) {
      bring(root, "etc/" + name, skeleton, binds);
    }
  }

  private static void folder(Path skeleton, SandboxId id, Path image, List<Bind> binds)
      throws IOException {
    requireImage(image);
    for (String name : entries(image)) {
      if (!OURS.contains(name)) {
        bring(image, name, skeleton, binds);
      }
    }
    if (Files.isDirectory(image.resolve("opt"), LinkOption.NOFOLLOW_LINKS)) {
      for (String name : entries(image.resolve("opt"))) {
        if (!name.equals("carrel")) {
          bring(image, "opt/" + name, skeleton, binds);
        }
      }
    }
    coverNames(skeleton, id, image, binds);
  }

  /** Our names, only where the image has plain files for them. */
  private static void coverNames(Path skeleton, SandboxId id, Path image, List<Bind> binds)
      throws IOException {
    Path etc = image.resolve("etc");
    if (!Files.isDirectory(etc, LinkOption.NOFOLLOW_LINKS)) {
      return;
    }
    for (String name : List.of("hosts", "hostname", "resolv.conf")) {
      if (Files.isRegularFile(etc.resolve(name), LinkOption.NOFOLLOW_LINKS)) {
        Path ours = skeleton.resolveSibling(name);
        String text = name.equals("hosts") ? hosts(id) : name.equals("hostname") ? id + "\n" : "";
        Files.writeString(ours, text);
        binds.add(new Bind(ours, "/etc/" + name));
      }
    }
  }

  /** A link as a link, a folder or a file as a bind; anything else is left out. */
  private static void bring(Path from, String name, Path skeleton, List<Bind> binds)
      throws IOException {
    Path source = from.resolve(name);
    Path target = skeleton.resolve(name);
    if (Files.isSymbolicLink(source)) {
      Files.createSymbolicLink(target, Files.readSymbolicLink(source));
    } else if (Files.isDirectory(source, LinkOption.NOFOLLOW_LINKS)) {
      Files.createDirectory(target);
      Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(source);
      if (permissions.contains(PosixFilePermission.OTHERS_EXECUTE)) {
        binds.add(new Bind(source, "/" + name));
      } else {
        // Such as /root: nobody inside could enter it, and a runtime that tries would fail.
        Files.setPosixFilePermissions(target, permissions);
      }
    } else if (Files.isRegularFile(source, LinkOption.NOFOLLOW_LINKS)) {
      Files.createFile(target);
      binds.add(new Bind(source, "/" + name));
    }
  }

  private static List<String> entries(Path folder) throws IOException {
    try (Stream<Path> found = Files.list(folder)) {
      List<String> names =
          found
              .map(path -> String.valueOf(path.getFileName()))
              .sorted()
              .limit(MAX_ENTRIES + 1)
              .toList();
      if (names.size() > MAX_ENTRIES) {
        throw new SandboxException(
            ErrorCode.IMAGE_NOT_FOUND,
            "start, image: " + folder + " has more than " + MAX_ENTRIES + " entries");
      }
      return names;
    }
  }

  /** What a machine has as /etc/hosts. */
  public static String hosts(SandboxId id) {
    return "127.0.0.1 localhost " + id + "\n::1 localhost\n";
  }
}
