package dev.carrel.control.transfer;

import static dev.carrel.control.ControlFixture.ALICE;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.files.FileDownload;
import dev.carrel.control.files.WriteFile;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.UploadId;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Uploads whose last bytes are in the sandbox before they are on its disk. */
@SuppressWarnings("NullAway") // set before each test
class UnsyncedUploadsIT {
  private static final String PATH = "data.db";
  private static final byte[] NEW = "whole".getBytes(UTF_8);

  private final GuestSyncs syncs = new GuestSyncs();
  private ControlFixture fixture;
  private Uploads uploads;
  private SandboxId sandbox;
  private Upload upload;
  private UploadId id;

  @BeforeEach
  void begin() throws IOException {
    fixture = new ControlFixture("process", settings -> settings, syncs::around);
    uploads = fixture.control().uploads();
    sandbox = fixture.sandbox().id();
    var old = new ByteArrayInputStream("old".getBytes(UTF_8));
    fixture.control().files().write(ALICE, sandbox, PATH, old, WriteFile.plain());
    upload = uploads.begin(ALICE, sandbox, PATH, NEW.length).upload();
    id = upload.id();
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  private Uploads.Progress append() throws IOException {
    return uploads.append(ALICE, sandbox, id, 0, new ByteArrayInputStream(NEW));
  }

  private void breakOff() {
    syncs.breakOff();
    failsWith(ErrorCode.GUEST_LOST, this::append);
    ControlFixture.eventually(this::isThere);
  }

  private boolean isThere() {
    return fixture.control().files().stat(ALICE, sandbox, upload.draft()).size() == NEW.length;
  }

  private String read() throws IOException {
    try (FileDownload file = fixture.control().files().read(ALICE, sandbox, PATH, null)) {
      var out = new ByteArrayOutputStream();
      file.transferTo(out);
      return out.toString(UTF_8);
    }
  }

  private static void failsWith(ErrorCode code, ThrowingCallable call) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(call)
        .matches(e -> e.code() == code, code.name());
  }

  @Test
  void whatCouldNotBeKeptReplacesNothing() throws Exception {
    syncs.fail();
    failsWith(ErrorCode.NO_SPACE, this::append);
    syncs.asUsual();
    failsWith(ErrorCode.UPLOAD_NOT_FOUND, () -> uploads.find(ALICE, sandbox, id));
    assertThat(read()).isEqualTo("old");
    assertThat(fixture.control().files().list(ALICE, sandbox, ".", 1, 10).entries()).hasSize(1);
  }

  @Test
  void whatNobodySyncedIsSyncedBeforeItHasItsName() throws Exception {
    breakOff();
    syncs.fail();
    failsWith(ErrorCode.NO_SPACE, () -> uploads.find(ALICE, sandbox, id));
    assertThat(read()).isEqualTo("old");
  }

  @Test
  void whatNobodySyncedIsThereOnceItIsSynced() throws Exception {
    breakOff();
    syncs.asUsual();
    int before = syncs.asked();
    assertThat(uploads.find(ALICE, sandbox, id).offset()).isEqualTo(NEW.length);
    assertThat(syncs.asked()).isGreaterThan(before);
    assertThat(read()).isEqualTo("whole");
  }

  @Test
  void whoAsksWhileTheLastOfItIsSyncedIsToldWhenItIsThere() throws Exception {
    var syncing = new CountDownLatch(1);
    var over = new CountDownLatch(1);
    syncs.then(
        _ -> {
          syncing.countDown();
          try {
            over.await();
          } catch (InterruptedException e) {
            throw new InterruptedIOException("nobody waits any longer");
          }
          return true;
        });
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Uploads.Progress> writing = threads.submit(this::append);
      Future<Uploads.Progress> asking;
      try {
        syncing.await();
        ControlFixture.eventually(this::isThere);
        asking = threads.submit(() -> uploads.find(ALICE, sandbox, id));
        assertThatExceptionOfType(TimeoutException.class)
            .isThrownBy(() -> asking.get(300, TimeUnit.MILLISECONDS));
      } finally {
        over.countDown();
      }
      assertThat(asking.get().offset()).isEqualTo(NEW.length);
      assertThat(writing.get().offset()).isEqualTo(NEW.length);
    }
    assertThat(read()).isEqualTo("whole");
  }
}
