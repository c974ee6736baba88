package dev.carrel.server.e2b;

import dev.carrel.server.http.HttpProblem;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/** A body that came packed. What is wrong with it is the client's mistake, wherever it shows. */
final class Gunzipped extends FilterInputStream {
  Gunzipped(InputStream body) throws IOException {
    super(open(body));
  }

  private static InputStream open(InputStream body) throws IOException {
    try {
      return new GZIPInputStream(body);
    } catch (EOFException | ZipException e) {
      throw broken();
    }
  }

  @Override
  public int read() throws IOException {
    try {
      return super.read();
    } catch (EOFException | ZipException e) {
      throw broken();
    }
  }

  @Override
  public int read(byte[] bytes, int offset, int length) throws IOException {
    try {
      return super.read(bytes, offset, length);
    } catch (EOFException | ZipException e) {
      throw broken();
    }
  }

  private static HttpProblem broken() {
    return HttpProblem.unreadable("body", "is not gzip, or not all of it");
  }
}
