package dev.carrel.sdk;

import java.util.List;

/**
 * What of the host is lent out.
 *
 * @param alwaysAllowed patterns of commands that nobody is asked about
 * @param blocked patterns of commands that nobody can allow
 * @param folders whose files may be read
 * @param writableFolders whose files may be read and written
 * @param approvals those that wait or are in force
 */
public record HostAccess(
    List<String> alwaysAllowed,
    List<String> blocked,
    List<String> folders,
    List<String> writableFolders,
    List<ApprovalInfo> approvals) {
  public HostAccess {
    alwaysAllowed = List.copyOf(alwaysAllowed);
    blocked = List.copyOf(blocked);
    folders = List.copyOf(folders);
    writableFolders = List.copyOf(writableFolders);
    approvals = List.copyOf(approvals);
  }
}
