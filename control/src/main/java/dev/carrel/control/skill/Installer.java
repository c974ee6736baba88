package dev.carrel.control.skill;

import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.guest.FileEntry;
import dev.carrel.guest.FileListing;
import dev.carrel.guest.FileWrite;
import dev.carrel.guest.GuestFiles;
import dev.carrel.guest.OnExisting;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SkillId;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Puts the files of a skill into one sandbox. They are written beside their place and come there
 * whole, so that whoever reads meanwhile sees the former ones or these. For one thread.
 */
final class Installer {
  /** In the workspace. */
  static final String FOLDER = "skills";

  private static final int MAX_DEPTH = 64;
  private static final int MAX_FOUND = 10_000;
  private static final int PLAIN = 0644;
  private static final int EXECUTABLE = 0755;

  private final RunningSandbox sandbox;
  private final GuestFiles guest;

  Installer(RunningSandbox sandbox) {
    this.sandbox = sandbox;
    // A link that the sandbox put there leads no further than its own workspace.
    this.guest =
        sandbox.sharesHostFiles()
            ? sandbox.guest().files()
            : sandbox.guest().files().beneath(Sandbox.WORKSPACE);
  }

  /** Whether all files are in their place, with the sizes that they should have. */
  boolean isThere(Skill skill, List<SkillFile> files) {
    FileListing listing;
    try {
      listing = guest.list(skill.folder(), MAX_DEPTH, MAX_FOUND);
    } catch (SandboxException e) {
      if (e.code() == ErrorCode.FILE_NOT_FOUND || e.code() == ErrorCode.NOT_A_DIRECTORY) {
        return false;
      }
      throw e;
    }
    var sizes = new HashMap<String, Long>();
    for (FileEntry entry : listing.entries()) {
      if (entry.type() == FileEntry.Type.FILE) {
        sizes.put(entry.path(), entry.size());
      }
    }
    return files.stream()
        .allMatch(
            file ->
                Long.valueOf(file.size()).equals(sizes.get(skill.folder() + "/" + file.path())));
  }

  void install(Skill skill, Map<String, SkillPackage.Content> files) {
    // An id of its own each time: two at once do not meet.
    String fresh = FOLDER + "/." + skill.name() + "." + SkillId.random();
    try {
      for (Map.Entry<String, SkillPackage.Content> file : files.entrySet()) {
        SkillPackage.Content content = file.getValue();
        guest.write(
            FileWrite.to(fresh + "/" + file.getKey())
                .withMode(content.executable() ? EXECUTABLE : PLAIN)
                .withSize(content.bytes().length),
            content.bytes());
        sandbox.countUpload(content.bytes().length);
      }
      takePlace(fresh, skill.folder());
    } finally {
      guest.clear(fresh);
    }
  }

  private void takePlace(String fresh, String place) {
    try {
      guest.move(fresh, place, OnExisting.FAIL);
    } catch (SandboxException e) {
      if (e.code() != ErrorCode.FILE_EXISTS) {
        throw e;
      }
      guest.exchange(fresh, place);
    }
  }
}
