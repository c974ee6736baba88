package dev.carrel.sdk;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How far the work on an image is.
 *
 * @param total null when nobody knows
 * @param log new lines
 */
public record ImageProgress(String step, long done, @Nullable Long total, List<String> log) {}
