package dev.carrel.image;

/**
 * A thing that a manifest names.
 *
 * @param size what it says its length is
 */
record Descriptor(String mediaType, Digest digest, long size) {}
