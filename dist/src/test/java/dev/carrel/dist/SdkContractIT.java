package dev.carrel.dist;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.carrel.cli.ServedServer;
import dev.carrel.sdk.ActivityInfo;
import dev.carrel.sdk.ApprovalInfo;
import dev.carrel.sdk.AuditRecord;
import dev.carrel.sdk.AuditVerdict;
import dev.carrel.sdk.CodeError;
import dev.carrel.sdk.CodeEvent;
import dev.carrel.sdk.CodeResult;
import dev.carrel.sdk.Contexts;
import dev.carrel.sdk.EgressDecision;
import dev.carrel.sdk.EgressInfo;
import dev.carrel.sdk.EngineInfo;
import dev.carrel.sdk.EventStream;
import dev.carrel.sdk.ExecEvent;
import dev.carrel.sdk.ExecInfo;
import dev.carrel.sdk.ExecResult;
import dev.carrel.sdk.FileChange;
import dev.carrel.sdk.FileEntry;
import dev.carrel.sdk.FileWatch;
import dev.carrel.sdk.NetworkPolicy;
import dev.carrel.sdk.SandboxInfo;
import dev.carrel.sdk.SecretInfo;
import dev.carrel.sdk.SnapshotInfo;
import dev.carrel.sdk.VolumeInfo;
import java.lang.reflect.RecordComponent;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The Java SDK's records are written by hand: each has what its schema has, and nothing else. */
@Timeout(120)
class SdkContractIT {
  private static final Map<String, Class<? extends Record>> RECORDS =
      Map.ofEntries(
          Map.entry("Activity", ActivityInfo.class),
          Map.entry("Approval", ApprovalInfo.class),
          Map.entry("AuditRecord", AuditRecord.class),
          Map.entry("AuditVerdict", AuditVerdict.class),
          Map.entry("CodeDone", CodeEvent.Done.class),
          Map.entry("CodeError", CodeError.class),
          Map.entry("CodeResult", CodeResult.class),
          Map.entry("Context", Contexts.Context.class),
          Map.entry("DisplayOutput", CodeResult.Display.class),
          Map.entry("Egress", EgressInfo.class),
          Map.entry("EgressDecision", EgressDecision.class),
          Map.entry("Engine", EngineInfo.class),
          Map.entry("Event", EventStream.Event.class),
          Map.entry("Exec", ExecInfo.class),
          Map.entry("ExecExited", ExecEvent.Exited.class),
          Map.entry("ExecResult", ExecResult.class),
          Map.entry("ExecStarted", ExecEvent.Started.class),
          Map.entry("FileChange", FileChange.class),
          Map.entry("FileEntry", FileEntry.class),
          Map.entry("NetworkPolicy", NetworkPolicy.class),
          Map.entry("Sandbox", SandboxInfo.class),
          Map.entry("Secret", SecretInfo.class),
          Map.entry("Snapshot", SnapshotInfo.class),
          Map.entry("Volume", VolumeInfo.class),
          Map.entry("WatchChange", FileWatch.Change.class));

  @Test
  void recordsHaveTheFieldsOfTheirSchemas(@TempDir Path folder) throws Exception {
    JsonNode schemas;
    try (ServedServer server = new Desk(folder).serve();
        HttpClient client = HttpClient.newHttpClient()) {
      var request =
          HttpRequest.newBuilder(server.endpoint().address().resolve("/api/v1/openapi.json"))
              .header("Authorization", "Bearer " + server.endpoint().token())
              .build();
      schemas =
          new JsonMapper()
              .readTree(client.send(request, BodyHandlers.ofString()).body())
              .path("components")
              .path("schemas");
    }
    var different = new TreeMap<String, String>();
    RECORDS.forEach(
        (schema, record) -> {
          Set<String> wanted = new TreeSet<>();
          schemas.path(schema).path("properties").fieldNames().forEachRemaining(wanted::add);
          Set<String> there =
              Arrays.stream(record.getRecordComponents())
                  .map(SdkContractIT::wireName)
                  .collect(Collectors.toCollection(TreeSet::new));
          if (!wanted.equals(there)) {
            different.put(schema, there + " but the contract has " + wanted);
          }
        });
    assertThat(different).isEmpty();
  }

  private static String wireName(RecordComponent component) {
    JsonProperty named = component.getAccessor().getAnnotation(JsonProperty.class);
    return named != null
        ? named.value()
        : component.getName().replaceAll("([a-z0-9])([A-Z])", "$1_$2").toLowerCase(Locale.ROOT);
  }
}
