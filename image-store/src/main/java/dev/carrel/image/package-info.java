/**
 * Images as files: layers unpacked safely, shared by digest, put together to root folders; read
 * from archives and registries, or built from packages.
 */
@NullMarked
package dev.carrel.image;

import org.jspecify.annotations.NullMarked;
