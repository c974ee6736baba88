import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassFile.ClassHierarchyResolverOption;
import java.lang.classfile.ClassFile.StackMapsOption;
import java.lang.classfile.ClassFileVersion;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Collections;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/**
 * {@code java NewerClasses.java JAR}: gives the classes of a library that was compiled for Java 5
 * the frames that Java 6 asks for, and its version. The AOT cache leaves older ones out, and each
 * start of the program would load and verify them anew, in the slow way of that time.
 */
final class NewerClasses {
  private static final int FIRST_WITH_FRAMES = 50;
  private static final int WRITTEN = 52;

  private NewerClasses() {}

  public static void main(String[] arguments) throws IOException {
    Path jar = Path.of(arguments[0]);
    Path draft = jar.resolveSibling(jar.getFileName() + ".draft");
    try (var in = new ZipFile(jar.toFile());
        var loader = new URLClassLoader(new URL[] {jar.toUri().toURL()});
        var out = new ZipOutputStream(Files.newOutputStream(draft))) {
      ClassFile classes =
          ClassFile.of(
              StackMapsOption.GENERATE_STACK_MAPS,
              ClassHierarchyResolverOption.of(
                  ClassHierarchyResolver.ofResourceParsing(loader)
                      .orElse(ClassHierarchyResolver.defaultResolver())));
      for (ZipEntry entry : Collections.list(in.entries())) {
        byte[] content = in.getInputStream(entry).readAllBytes();
        var copy = new ZipEntry(entry.getName());
        copy.setLastModifiedTime(entry.getLastModifiedTime());
        out.putNextEntry(copy);
        out.write(entry.getName().endsWith(".class") ? newer(classes, content) : content);
        out.closeEntry();
      }
    }
    Files.move(draft, jar, StandardCopyOption.ATOMIC_MOVE);
  }

  private static byte[] newer(ClassFile classes, byte[] content) {
    ClassModel model = classes.parse(content);
    if (model.majorVersion() >= FIRST_WITH_FRAMES) {
      return content;
    }
    ClassTransform version =
        (builder, element) -> {
          if (element instanceof ClassFileVersion) {
            builder.withVersion(WRITTEN, 0);
          } else {
            builder.with(element);
          }
        };
    // Written anew, instruction by instruction: what is only copied gets no frames.
    return classes.transformClass(
        model,
        version.andThen(
            ClassTransform.transformingMethodBodies(
                (builder, element) -> builder.with(element))));
  }
}
