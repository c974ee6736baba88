package dev.carrel.control.context;

import dev.carrel.spi.Language;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Which environment variables a kernel can still be given after its start. The others are read
 * once, by the loader, the C library, the interpreter or a library that is loaded ahead; a context
 * that asks for one of those needs a kernel of its own.
 */
final class LateBinding {
  private static final Pattern ANYWHERE =
      Pattern.compile("LD_.*|LC_.*|LANG|LANGUAGE|TZ|MALLOC_.*|GLIBC_TUNABLES|SSL_.*|OPENSSL_.*");
  private static final Pattern PYTHON =
      Pattern.compile("PYTHON.*|OMP_.*|OPENBLAS_.*|MKL_.*|BLIS_.*|NUMEXPR_.*|NPY_.*|MPL.*");
  private static final Pattern NODE = Pattern.compile("NODE_.*|UV_.*");
  private static final Pattern R = Pattern.compile("R_.*|OMP_.*|OPENBLAS_.*");
  private static final Pattern BASH =
      Pattern.compile(
          "BASH.*|SHELLOPTS|POSIXLY_CORRECT|SECONDS|(?![A-Za-z_][A-Za-z_0-9]*\\z).*",
          Pattern.DOTALL);

  private LateBinding() {}

  static boolean suits(Language language, Set<String> names) {
    Pattern own =
        switch (language) {
          case PYTHON -> PYTHON;
          case NODE -> NODE;
          case R -> R;
          case BASH -> BASH;
        };
    return names.stream()
        .noneMatch(name -> ANYWHERE.matcher(name).matches() || own.matcher(name).matches());
  }
}
