package dev.carrel.control.sandbox;

import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.util.Arrays;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Which sandboxes to list and how.
 *
 * @param page from 1
 * @param search part of an id, session key, image or metadata value
 * @param further what only an administrator asks for
 */
public record SandboxQuery(
    int page,
    int pageSize,
    @Nullable SandboxStatus status,
    @Nullable String search,
    @Nullable String image,
    @Nullable String namespace,
    SortBy sortBy,
    boolean descending,
    Further further) {
  public static final int MAX_PAGE_SIZE = 200;

  /**
   * Narrows a list beyond what an owner needs.
   *
   * @param excluded a status that is left out
   * @param tenant null: of every tenant
   * @param imagePart part of an image's name
   */
  public record Further(
      @Nullable SandboxStatus excluded, @Nullable String tenant, @Nullable String imagePart) {
    public static final Further NONE = new Further(null, null, null);
  }

  public SandboxQuery(
      int page,
      int pageSize,
      @Nullable SandboxStatus status,
      @Nullable String search,
      @Nullable String image,
      SortBy sortBy,
      boolean descending) {
    this(page, pageSize, status, search, image, null, sortBy, descending, Further.NONE);
  }

  private static final int MAX_PAGE = 1_000_000;

  public SandboxQuery {
    if (page < 1 || page > MAX_PAGE) {
      throw SandboxException.invalid("page", "must be between 1 and " + MAX_PAGE);
    }
    if (pageSize < 1 || pageSize > MAX_PAGE_SIZE) {
      throw SandboxException.invalid("page_size", "must be between 1 and " + MAX_PAGE_SIZE);
    }
    if (search != null && search.length() > 256) {
      throw SandboxException.invalid("search", "must have at most 256 characters");
    }
  }

  /**
   * The same in one namespace.
   *
   * @param newNamespace null: in any
   */
  public SandboxQuery in(@Nullable String newNamespace) {
    return new SandboxQuery(
        page, pageSize, status, search, image, newNamespace, sortBy, descending, further);
  }

  /** The same on another page, as large as can be. */
  SandboxQuery onPage(int newPage) {
    return new SandboxQuery(
        newPage, MAX_PAGE_SIZE, status, search, image, namespace, sortBy, descending, further);
  }

  /** The first page of everything, newest first. */
  public static SandboxQuery all() {
    return new SandboxQuery(1, 20, null, null, null, SortBy.CREATED_AT, true);
  }

  /** What a list can be ordered by. */
  public enum SortBy {
    CREATED_AT,
    LAST_ACTIVITY_AT,
    STATUS,
    IMAGE,
    MEMORY_MB,
    EXEC_COUNT;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }

    public static SortBy parse(String name) {
      return Arrays.stream(values())
          .filter(key -> key.wireName().equals(name))
          .findFirst()
          .orElseThrow(
              () ->
                  SandboxException.invalid(
                      "sort_by",
                      "cannot sort by '"
                          + Text.printable(name, 32)
                          + "'; one of "
                          + Arrays.stream(values()).map(SortBy::wireName).toList()));
    }
  }
}
