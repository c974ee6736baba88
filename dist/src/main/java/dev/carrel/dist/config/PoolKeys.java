package dev.carrel.dist.config;

import dev.carrel.control.sandbox.PoolSettings;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The keys of {@link PoolSettings}: {@code pool.sizes = host=2-8, host@docker=1-4} and {@code
 * pool.languages = host=python+node}.
 */
final class PoolKeys {
  private static final Pattern SIZE =
      Pattern.compile("([^=@]+)(?:@([^=]+))?=(\\d{1,5})-(\\d{1,5})");
  private static final Pattern LANGUAGES = Pattern.compile("([^=]+)=([a-z0-9+]+)");

  private PoolKeys() {}

  static PoolSettings read(Settings settings) {
    PoolSettings usual = PoolSettings.defaults();
    Map<String, Set<Language>> languages = languages(settings);
    var pools = new ArrayList<PoolSettings.Pool>();
    for (String text : settings.list("pool.sizes", List.of())) {
      Matcher size = SIZE.matcher(text);
      if (!size.matches()) {
        throw new ConfigurationException(
            "pool.sizes must be a list such as host=2-8, but has '" + text + "'");
      }
      String image = size.group(1).strip();
      Set<Language> own = languages.getOrDefault(image, Set.of());
      try {
        pools.add(pool(image, size.group(2), size.group(3), size.group(4), own));
      } catch (SandboxException e) {
        throw new ConfigurationException(e.message());
      }
    }
    for (String image : languages.keySet()) {
      if (pools.stream().noneMatch(pool -> pool.image().equals(image))) {
        throw new ConfigurationException(
            "pool.languages names '" + image + "', which pool.sizes does not");
      }
    }
    return new PoolSettings(
        pools,
        settings.number("pool.ahead", usual.ahead(), 0, PoolSettings.MOST_AHEAD),
        settings.duration("pool.max-age", usual.maxAge()),
        settings.duration("pool.check-interval", usual.checkInterval()));
  }

  private static PoolSettings.Pool pool(
      String image, @Nullable String engine, String min, String max, Set<Language> languages) {
    return new PoolSettings.Pool(
        image,
        engine == null ? null : engine.strip(),
        Integer.parseInt(min),
        Integer.parseInt(max),
        languages);
  }

  private static Map<String, Set<Language>> languages(Settings settings) {
    var languages = new HashMap<String, Set<Language>>();
    for (String text : settings.list("pool.languages", List.of())) {
      Matcher matcher = LANGUAGES.matcher(text);
      if (!matcher.matches()) {
        throw new ConfigurationException(
            "pool.languages must be a list such as host=python+node, but has '" + text + "'");
      }
      var names = EnumSet.noneOf(Language.class);
      for (String name : matcher.group(2).split("\\+", -1)) {
        try {
          names.add(Language.parse(name));
        } catch (SandboxException e) {
          throw new ConfigurationException("pool.languages: " + e.message());
        }
      }
      languages.put(matcher.group(1).strip(), names);
    }
    return languages;
  }
}
