package dev.carrel.server.e2b;

import com.google.protobuf.Message;
import dev.carrel.control.files.FileEntry;
import dev.carrel.control.files.FileEvents;
import dev.carrel.control.files.FileEvents.FileEvent;
import dev.carrel.control.files.FileListing;
import dev.carrel.control.files.Files;
import dev.carrel.protocols.filesystem.CreateWatcherRequest;
import dev.carrel.protocols.filesystem.CreateWatcherResponse;
import dev.carrel.protocols.filesystem.EventType;
import dev.carrel.protocols.filesystem.FilesystemEvent;
import dev.carrel.protocols.filesystem.GetWatcherEventsRequest;
import dev.carrel.protocols.filesystem.GetWatcherEventsResponse;
import dev.carrel.protocols.filesystem.ListDirRequest;
import dev.carrel.protocols.filesystem.ListDirResponse;
import dev.carrel.protocols.filesystem.MakeDirRequest;
import dev.carrel.protocols.filesystem.MakeDirResponse;
import dev.carrel.protocols.filesystem.MoveRequest;
import dev.carrel.protocols.filesystem.MoveResponse;
import dev.carrel.protocols.filesystem.RemoveRequest;
import dev.carrel.protocols.filesystem.RemoveResponse;
import dev.carrel.protocols.filesystem.RemoveWatcherRequest;
import dev.carrel.protocols.filesystem.RemoveWatcherResponse;
import dev.carrel.protocols.filesystem.StatRequest;
import dev.carrel.protocols.filesystem.StatResponse;
import dev.carrel.protocols.filesystem.WatchDirRequest;
import dev.carrel.protocols.filesystem.WatchDirResponse;
import dev.carrel.server.e2b.Connect.Call;
import dev.carrel.server.http.Router;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.util.Comparator;
import java.util.Optional;

/** {@code filesystem.Filesystem}. */
final class FilesystemService {
  private static final String PATH = "/filesystem.Filesystem/";
  private static final int MAX_DEPTH = 64;

  private final Connect connect;
  private final Files files;
  private final Watchers watchers;

  FilesystemService(Connect connect, Files files, Watchers watchers) {
    this.connect = connect;
    this.files = files;
    this.watchers = watchers;
  }

  void addTo(Router router) {
    router
        .open("POST", PATH + "Stat", connect.unary(StatRequest.getDefaultInstance(), this::stat))
        .open(
            "POST",
            PATH + "MakeDir",
            connect.unary(MakeDirRequest.getDefaultInstance(), this::makeDir))
        .open("POST", PATH + "Move", connect.unary(MoveRequest.getDefaultInstance(), this::move))
        .open(
            "POST",
            PATH + "ListDir",
            connect.unary(ListDirRequest.getDefaultInstance(), this::listDir))
        .open(
            "POST",
            PATH + "Remove",
            connect.unary(RemoveRequest.getDefaultInstance(), this::remove))
        .open(
            "POST",
            PATH + "WatchDir",
            connect.streaming(WatchDirRequest.getDefaultInstance(), this::watch))
        .open(
            "POST",
            PATH + "CreateWatcher",
            connect.unary(CreateWatcherRequest.getDefaultInstance(), this::createWatcher))
        .open(
            "POST",
            PATH + "GetWatcherEvents",
            connect.unary(GetWatcherEventsRequest.getDefaultInstance(), this::watcherEvents))
        .open(
            "POST",
            PATH + "RemoveWatcher",
            connect.unary(RemoveWatcherRequest.getDefaultInstance(), this::removeWatcher));
  }

  private Message stat(Call call, StatRequest request) {
    Home home = Home.of(request.getPath());
    FileEntry entry = files.statLink(call.caller(), call.sandbox(), home.inside());
    return StatResponse.newBuilder().setEntry(EntryInfos.of(entry, home)).build();
  }

  private Message makeDir(Call call, MakeDirRequest request) {
    Home home = Home.of(request.getPath());
    find(call, home)
        .ifPresent(
            there -> {
              if (there.type() == FileEntry.Type.DIR) {
                throw new SandboxException(
                    ErrorCode.FILE_EXISTS, request.getPath() + " is there already");
              }
              throw SandboxException.invalid("path", request.getPath() + " is not a folder");
            });
    FileEntry made = files.mkdir(call.caller(), call.sandbox(), home.inside(), true);
    return MakeDirResponse.newBuilder().setEntry(EntryInfos.of(made, home)).build();
  }

  /** Empty also for what cannot be looked at: programs inside may change it at any time. */
  private Optional<FileEntry> find(Call call, Home home) {
    try {
      return Optional.of(files.statLink(call.caller(), call.sandbox(), home.inside()));
    } catch (SandboxException e) {
      return switch (e.code()) {
        case FILE_NOT_FOUND, NOT_A_DIRECTORY, PERMISSION_DENIED, INVALID_INPUT -> Optional.empty();
        default -> throw e;
      };
    }
  }

  private Message move(Call call, MoveRequest request) {
    Home from = Home.of(request.getSource());
    Home to = Home.of(request.getDestination());
    String folder = to.inside().substring(0, Math.max(1, to.inside().lastIndexOf('/')));
    if (find(call, from).isPresent() && find(call, new Home(folder, false)).isEmpty()) {
      files.mkdir(call.caller(), call.sandbox(), folder, true);
    }
    FileEntry moved = files.move(call.caller(), call.sandbox(), from.inside(), to.inside(), true);
    return MoveResponse.newBuilder().setEntry(EntryInfos.of(moved, to)).build();
  }

  private Message listDir(Call call, ListDirRequest request) {
    Home home = Home.of(request.getPath().isEmpty() ? "." : request.getPath());
    int depth = Math.clamp(request.getDepth(), 1, MAX_DEPTH);
    FileListing listing =
        files.list(call.caller(), call.sandbox(), home.inside(), depth, Integer.MAX_VALUE);
    if (listing.truncated()) {
      throw new SandboxException(
              ErrorCode.LIMIT_REACHED,
              "there are more than " + listing.entries().size() + " entries")
          .withHint("list a folder further down, or less deep");
    }
    var answer = ListDirResponse.newBuilder();
    listing.entries().stream()
        .sorted(Comparator.comparing(FileEntry::path))
        .forEach(entry -> answer.addEntries(EntryInfos.of(entry, home)));
    return answer.build();
  }

  private Message remove(Call call, RemoveRequest request) {
    files.remove(call.caller(), call.sandbox(), Home.of(request.getPath()).inside(), true, true);
    return RemoveResponse.getDefaultInstance();
  }

  private void watch(Call call, WatchDirRequest request, Frames answers)
      throws IOException, InterruptedException {
    Home home = Home.of(request.getPath());
    try (FileEvents events =
        files.watch(call.caller(), call.sandbox(), home.inside(), request.getRecursive())) {
      answers.send(
          WatchDirResponse.newBuilder()
              .setStart(WatchDirResponse.StartEvent.getDefaultInstance())
              .build());
      while (true) {
        FileEvent event = events.next(call.quiet());
        var answer = WatchDirResponse.newBuilder();
        if (event == null) {
          answers.send(
              answer.setKeepalive(WatchDirResponse.KeepAlive.getDefaultInstance()).build());
        } else if (event.kind() != FileEvent.Kind.OVERFLOW) {
          answers.send(
              answer.setFilesystem(change(call, home, event, request.getIncludeEntry())).build());
        }
      }
    } catch (SandboxException e) {
      if (isAway(e) && call.exchange().answered()) {
        throw call.exchange().hangUp();
      }
      throw e;
    }
  }

  private static boolean isAway(SandboxException e) {
    return switch (e.code().kind()) {
      case GONE, ENGINE, ABSENT, CONFLICT -> true;
      default -> false;
    };
  }

  private FilesystemEvent change(Call call, Home home, FileEvent event, boolean withEntry) {
    var change =
        FilesystemEvent.newBuilder().setName(name(home, event.path())).setType(type(event.kind()));
    if (withEntry) {
      find(call, new Home(event.path(), home.renamed()))
          .ifPresent(entry -> change.setEntry(EntryInfos.of(entry, home)));
    }
    return change.build();
  }

  /** As it is called from the folder that is watched, which itself is a dot. */
  private static String name(Home home, String path) {
    if (path.equals(home.inside())) {
      return ".";
    }
    String folder = home.inside().equals("/") ? "/" : home.inside() + "/";
    return path.startsWith(folder) ? path.substring(folder.length()) : path;
  }

  private static EventType type(FileEvent.Kind kind) {
    return switch (kind) {
      case CREATED, MOVED_HERE -> EventType.EVENT_TYPE_CREATE;
      case MODIFIED -> EventType.EVENT_TYPE_WRITE;
      case DELETED -> EventType.EVENT_TYPE_REMOVE;
      case MOVED_AWAY -> EventType.EVENT_TYPE_RENAME;
      case OVERFLOW -> EventType.EVENT_TYPE_UNSPECIFIED;
    };
  }

  private Message createWatcher(Call call, CreateWatcherRequest request) {
    Home home = Home.of(request.getPath());
    FileEvents events =
        files.watch(call.caller(), call.sandbox(), home.inside(), request.getRecursive());
    String id = watchers.add(call.sandbox(), home, events, request.getIncludeEntry());
    return CreateWatcherResponse.newBuilder().setWatcherId(id).build();
  }

  private Message watcherEvents(Call call, GetWatcherEventsRequest request)
      throws InterruptedException {
    var answer = GetWatcherEventsResponse.newBuilder();
    Watchers.Watcher watcher = watchers.require(call.sandbox(), request.getWatcherId());
    for (FileEvent event : watcher.take()) {
      answer.addEvents(change(call, watcher.home(), event, watcher.withEntry()));
    }
    return answer.build();
  }

  private Message removeWatcher(Call call, RemoveWatcherRequest request) {
    watchers.remove(call.sandbox(), request.getWatcherId());
    return RemoveWatcherResponse.getDefaultInstance();
  }
}
