package dev.carrel.sdk;

import java.util.List;

/** What a clean-up of images removed. */
public record PrunedImages(List<String> removed, long freedBytes) {}
