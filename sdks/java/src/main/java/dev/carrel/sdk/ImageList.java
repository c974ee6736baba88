package dev.carrel.sdk;

import java.util.List;

/**
 * The images of a server.
 *
 * @param diskBytes what all of them take, with what they share counted once
 */
public record ImageList(List<ImageInfo> images, long diskBytes) {}
