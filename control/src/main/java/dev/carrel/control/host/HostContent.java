package dev.carrel.control.host;

/**
 * Bytes of a file.
 *
 * @param size of the whole file
 * @param cut whether there is more after these
 */
@SuppressWarnings("ArrayRecordComponent") // made for one reader
public record HostContent(String path, byte[] bytes, long size, boolean cut) {}
