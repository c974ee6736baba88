package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import dev.carrel.server.LiveServer;
import dev.carrel.server.SharedServer;
import dev.carrel.server.http.PublicAddress;
import dev.carrel.server.http.Route;
import dev.carrel.server.http.Router;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
class DescriptionTest {
  private static final Map<String, Class<?>> SCHEMAS =
      Map.ofEntries(
          Map.entry("Health", ServerRoutes.Health.class),
          Map.entry("EngineList", ServerRoutes.EngineList.class),
          Map.entry("ImageBuilder", ServerRoutes.ImageBuilder.class),
          Map.entry("Engine", ServerRoutes.EngineInfo.class),
          Map.entry("PoolSummary", PoolRoutes.Summary.class),
          Map.entry("Pool", PoolRoutes.Pool.class),
          Map.entry("Measure", SandboxView.Measure.class),
          Map.entry("LanguageList", ServerRoutes.LanguageList.class),
          Map.entry("LanguageInfo", ServerRoutes.LanguageInfo.class),
          Map.entry("Sandbox", SandboxView.class),
          Map.entry("Failure", SandboxView.FailureView.class),
          Map.entry("SandboxPage", SandboxRoutes.Page.class),
          Map.entry("EventList", EventRoutes.Page.class),
          Map.entry("Event", EventRoutes.View.class),
          Map.entry("Volume", VolumeRoutes.View.class),
          Map.entry("VolumeList", VolumeRoutes.Page.class),
          Map.entry("ApiKey", KeyRoutes.View.class),
          Map.entry("ApiKeyList", KeyRoutes.Page.class),
          Map.entry("Snapshot", SnapshotRoutes.View.class),
          Map.entry("SnapshotList", SnapshotRoutes.Page.class),
          Map.entry("ExecResult", ExecViews.Result.class),
          Map.entry("FileChange", ExecViews.FileChange.class),
          Map.entry("Installation", PackageRoutes.View.class),
          Map.entry("InstalledPackage", PackageRoutes.PackageView.class),
          Map.entry("BridgeResult", BridgeRequest.View.class),
          Map.entry("ImportResult", ImportFiles.View.class),
          Map.entry("ImportedFile", ImportFiles.FileView.class),
          Map.entry("ExportResult", ExportRoutes.View.class),
          Map.entry("ExportedFile", ExportRoutes.FileView.class),
          Map.entry("ExportList", ExportRoutes.Page.class),
          Map.entry("ExportInfo", ExportRoutes.ExportView.class),
          Map.entry("Budget", BudgetRoutes.View.class),
          Map.entry("TerminalLink", TerminalRoutes.LinkView.class),
          Map.entry("PortLink", PortRoutes.View.class),
          Map.entry("Artifact", ArtifactRoutes.View.class),
          Map.entry("ArtifactList", ArtifactRoutes.Page.class),
          Map.entry("SignedArtifacts", ArtifactRoutes.SignedView.class),
          Map.entry("SkippedArtifact", ArtifactRoutes.SkippedView.class),
          Map.entry("EnvelopeSignature", ArtifactRoutes.EnvelopeSignature.class),
          Map.entry("Exec", ExecViews.ExecInfo.class),
          Map.entry("ExecList", ExecViews.ExecInfoList.class),
          Map.entry("ExecOutput", ExecViews.Output.class),
          Map.entry("OutputChunk", ExecViews.Chunk.class),
          Map.entry("ExecStarted", ExecViews.Started.class),
          Map.entry("GapEvent", ExecViews.Gap.class),
          Map.entry("ExecExited", ExecViews.Exited.class),
          Map.entry("CodeResult", CodeViews.Result.class),
          Map.entry("DisplayOutput", CodeViews.Display.class),
          Map.entry("CodeError", CodeViews.Failed.class),
          Map.entry("CodeStarted", CodeViews.Started.class),
          Map.entry("UsageList", UsageRoutes.UsageList.class),
          Map.entry("Usage", UsageRoutes.UsageView.class),
          Map.entry("BulkOutcome", AdminRoutes.Outcome.class),
          Map.entry("BulkFailure", AdminRoutes.Failed.class),
          Map.entry("Queue", QueueRoutes.QueueView.class),
          Map.entry("QueueLine", QueueRoutes.LineView.class),
          Map.entry("WaitingRequest", QueueRoutes.WaitingRequest.class),
          Map.entry("QueuedEvent", QueueRoutes.Queued.class),
          Map.entry("AuditPage", AuditRoutes.Page.class),
          Map.entry("AuditRecord", AuditRoutes.RecordView.class),
          Map.entry("AuditVerdict", AuditRoutes.VerdictView.class),
          Map.entry("AuditProblem", AuditRoutes.ProblemView.class),
          Map.entry("SigningKey", AuditRoutes.KeyView.class),
          Map.entry("CodeGap", CodeViews.Gap.class),
          Map.entry("CodeDone", CodeViews.Done.class),
          Map.entry("Context", CodeViews.ContextInfo.class),
          Map.entry("ContextList", CodeViews.ContextInfoList.class),
          Map.entry("FileEntry", FileViews.Entry.class),
          Map.entry("GlobResult", FileViews.GlobResult.class),
          Map.entry("GrepResult", FileViews.GrepResult.class),
          Map.entry("GrepMatch", FileViews.Match.class),
          Map.entry("WatchReady", FileViews.Watching.class),
          Map.entry("WatchChange", FileViews.Change.class));

  private final LiveServer server;

  DescriptionTest(LiveServer server) {
    this.server = server;
  }

  @Test
  void everyRouteIsDescribedAndEveryDescribedRouteExists() {
    var router = new Router();
    new RestApi(server.control(), _ -> Optional.empty(), new PublicAddress("")).addTo(router);
    Set<String> routes =
        router.routes().stream()
            .map(route -> route.method() + " " + route.template().replace("...", ""))
            .collect(Collectors.toCollection(TreeSet::new));
    assertThat(routes).isEqualTo(server.description().operations());
  }

  @Test
  void onlyHealthTheDocsPageAndSignedLinksNeedNoToken() {
    var router = new Router();
    new RestApi(server.control(), _ -> Optional.empty(), new PublicAddress("")).addTo(router);
    for (Route route : router.routes()) {
      JsonNode security =
          server
              .description()
              .root()
              .get("paths")
              .get(route.template().replace("...", ""))
              .get(route.method().toLowerCase(Locale.ROOT))
              .path("security");
      // A link to an export is signed: that is its token.
      boolean open =
          Set.of("/health", "/docs", "/docs/{asset}", "/api/v1/exports/{xid}/content")
              .contains(route.template());
      assertThat(route.access() == Route.Access.OPEN).as(route.template()).isEqualTo(open);
      assertThat(security.isArray() && security.isEmpty()).as(route.template()).isEqualTo(open);
    }
  }

  @Test
  void wireRecordsHaveTheFieldsOfTheirSchemas() {
    var snake = new SnakeCaseStrategy();
    JsonNode schemas = server.description().root().at("/components/schemas");
    SCHEMAS.forEach(
        (name, type) -> {
          Set<String> fields =
              Arrays.stream(type.getRecordComponents())
                  .map(RecordComponent::getName)
                  .map(snake::translate)
                  .collect(Collectors.toSet());
          Set<String> described = new TreeSet<>();
          schemas.get(name).get("properties").fieldNames().forEachRemaining(described::add);
          Set<String> required = new TreeSet<>();
          schemas.get(name).get("required").forEach(field -> required.add(field.asText()));
          assertThat(described).as(name).isEqualTo(fields);
          assertThat(required).as("required of " + name).isEqualTo(fields);
        });
  }

  @Test
  void theDescriptionIsServedInBothForms() {
    assertThat(server.get("/api/v1/openapi.json").json()).isEqualTo(server.description().root());
    assertThat(server.get("/api/v1/openapi.yaml").text()).startsWith("openapi: 3.1");
  }

  @Test
  void referencesInTheDescriptionLeadSomewhere() {
    JsonNode root = server.description().root();
    root.findValuesAsText("$ref")
        .forEach(
            reference ->
                assertThat(root.at(reference.substring(1)).isMissingNode())
                    .as(reference)
                    .isFalse());
  }
}
