package dev.carrel.dist;

import ch.qos.logback.classic.AsyncAppender;
import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.JsonEncoder;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.filter.ThresholdFilter;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import ch.qos.logback.core.encoder.Encoder;
import ch.qos.logback.core.rolling.FixedWindowRollingPolicy;
import ch.qos.logback.core.rolling.RollingFileAppender;
import ch.qos.logback.core.rolling.SizeBasedTriggeringPolicy;
import ch.qos.logback.core.util.FileSize;
import dev.carrel.dist.config.LogConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.logging.Handler;
import java.util.logging.LogManager;
import java.util.logging.LogRecord;
import org.slf4j.LoggerFactory;

/** Sets the logging up, in code: no file to find, nothing to surprise an operator. */
final class Logging {
  private static final String FILE_SIZE = "10MB";
  private static final int OLD_FILES = 4;
  private static final int QUEUE = 1024;

  private Logging() {}

  /** Logs to a file of bounded size in the folder, as JSON lines, and to nothing else. */
  static Path toFile(LogConfig config, Path folder) {
    LoggerContext context = fresh();
    Path file = folder.resolve("carrel.log");
    begin(context, config, new Unhurried(List.of(file(context, file))));
    return file;
  }

  /**
   * As {@link #toFile}, and to standard error too.
   *
   * @param problemsOnly for a person at a terminal; the file has the rest
   */
  static Path toFileAndStandardError(LogConfig config, Path folder, boolean problemsOnly) {
    LoggerContext context = fresh();
    Path file = folder.resolve("carrel.log");
    var error = standardError(context, config, problemsOnly);
    begin(context, config, new Unhurried(List.of(file(context, file), error)));
    return file;
  }

  private static void begin(LoggerContext context, LogConfig config, Unhurried appender) {
    appender.setContext(context);
    appender.start();
    var root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    root.setLevel(Level.valueOf(config.level().name()));
    // Flyway tells a story of eight lines at each start.
    context.getLogger("org.flywaydb").setLevel(Level.WARN);
    root.addAppender(inBackground(context, appender));
    takeOverJavaLogging();
  }

  private static Appender<ILoggingEvent> file(LoggerContext context, Path file) {
    var appender = new RollingFileAppender<ILoggingEvent>();
    appender.setContext(context);
    appender.setFile(file.toString());
    appender.setEncoder(json(context));
    var trigger = new SizeBasedTriggeringPolicy<ILoggingEvent>();
    trigger.setContext(context);
    trigger.setMaxFileSize(FileSize.valueOf(FILE_SIZE));
    var rolling = new FixedWindowRollingPolicy();
    rolling.setContext(context);
    rolling.setParent(appender);
    rolling.setFileNamePattern(file + ".%i");
    rolling.setMinIndex(1);
    rolling.setMaxIndex(OLD_FILES);
    appender.setTriggeringPolicy(trigger);
    appender.setRollingPolicy(rolling);
    trigger.start();
    rolling.start();
    appender.start();
    return appender;
  }

  private static Appender<ILoggingEvent> standardError(
      LoggerContext context, LogConfig config, boolean problemsOnly) {
    var appender = new ConsoleAppender<ILoggingEvent>();
    appender.setContext(context);
    appender.setTarget("System.err");
    appender.setEncoder(
        switch (config.format()) {
          case JSON -> json(context);
          case TEXT -> text(context);
        });
    if (problemsOnly) {
      var filter = new ThresholdFilter();
      filter.setLevel("WARN");
      filter.start();
      appender.addFilter(filter);
    }
    appender.start();
    return appender;
  }

  /** No request waits for its line to be written; none is dropped, and an end writes them all. */
  private static Appender<ILoggingEvent> inBackground(
      LoggerContext context, Appender<ILoggingEvent> appender) {
    var queue = new AsyncAppender();
    queue.setContext(context);
    queue.setQueueSize(QUEUE);
    queue.setDiscardingThreshold(0);
    queue.addAppender(appender);
    queue.start();
    return queue;
  }

  /** Writes what is still to be written; later lines go nowhere. */
  static void end() {
    context().reset();
  }

  private static LoggerContext fresh() {
    LoggerContext context = context();
    context.reset();
    return context;
  }

  private static LoggerContext context() {
    return (LoggerContext) LoggerFactory.getILoggerFactory();
  }

  private static Encoder<ILoggingEvent> json(LoggerContext context) {
    var encoder = new JsonEncoder();
    encoder.setContext(context);
    encoder.setWithSequenceNumber(false);
    encoder.setWithNanoseconds(false);
    encoder.setWithContext(false);
    encoder.setWithArguments(false);
    encoder.setWithMessage(false);
    encoder.setWithFormattedMessage(true);
    encoder.start();
    return encoder;
  }

  private static Encoder<ILoggingEvent> text(LoggerContext context) {
    var encoder = new PatternLayoutEncoder();
    encoder.setContext(context);
    encoder.setPattern("%d{HH:mm:ss.SSS} %-5level %logger{0}: %msg %kvp%n");
    encoder.start();
    return encoder;
  }

  // Helidon logs through java.util.logging, whose own way is to print everything to standard error.
  private static void takeOverJavaLogging() {
    LogManager.getLogManager().reset();
    var root = java.util.logging.Logger.getLogger("");
    root.setLevel(java.util.logging.Level.WARNING);
    root.addHandler(new ToSlf4j());
  }

  /**
   * Writes lines in batches: on a small machine a thread that wakes for each of them gets into the
   * way of who has just asked for the next thing.
   */
  private static final class Unhurried extends UnsynchronizedAppenderBase<ILoggingEvent> {
    private static final Duration PAUSE = Duration.ofMillis(20);

    private final List<Appender<ILoggingEvent>> places;
    private long woke;

    private Unhurried(List<Appender<ILoggingEvent>> places) {
      this.places = places;
    }

    @Override
    protected void append(ILoggingEvent event) {
      if (event.getTimeStamp() >= woke) {
        // What comes meanwhile waits in the queue. An end interrupts this, and then all is written.
        LockSupport.parkNanos(PAUSE.toNanos());
        woke = System.currentTimeMillis();
      }
      places.forEach(place -> place.doAppend(event));
    }

    @Override
    public void stop() {
      super.stop();
      places.forEach(Appender::stop);
    }
  }

  private static final class ToSlf4j extends Handler {
    @Override
    public void publish(LogRecord record) {
      org.slf4j.Logger logger = LoggerFactory.getLogger(String.valueOf(record.getLoggerName()));
      String message = String.valueOf(record.getMessage());
      if (record.getLevel().intValue() >= java.util.logging.Level.SEVERE.intValue()) {
        logger.error(message, record.getThrown());
      } else {
        logger.warn(message, record.getThrown());
      }
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }
}
