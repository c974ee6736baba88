package dev.carrel.dist.config;

import java.util.Optional;

/**
 * A setting as it is in force.
 *
 * @param usual its default
 * @param origin who has set it; empty: nobody
 */
public record Setting(String key, String value, String usual, Optional<String> origin) {}
