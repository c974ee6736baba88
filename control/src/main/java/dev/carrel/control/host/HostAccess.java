package dev.carrel.control.host;

import dev.carrel.control.approval.Approval;
import java.util.List;

/**
 * What a caller may do on the host.
 *
 * @param allowed patterns that nobody is asked about
 * @param blocked patterns that nobody can allow
 * @param approvals those that wait or are in force
 */
public record HostAccess(
    List<String> allowed,
    List<String> blocked,
    List<String> folders,
    List<String> writable,
    List<Approval> approvals) {
  public HostAccess {
    allowed = List.copyOf(allowed);
    blocked = List.copyOf(blocked);
    folders = List.copyOf(folders);
    writable = List.copyOf(writable);
    approvals = List.copyOf(approvals);
  }
}
