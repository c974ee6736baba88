package dev.carrel.server.rest;

import com.fasterxml.jackson.annotation.JsonRawValue;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import dev.carrel.control.skill.Installation;
import dev.carrel.control.skill.Installed;
import dev.carrel.control.skill.Skill;
import dev.carrel.control.skill.SkillFile;
import dev.carrel.control.skill.Skills;
import dev.carrel.control.skill.Upload;
import dev.carrel.server.http.Download;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.server.http.Multipart;
import dev.carrel.server.http.Router;
import dev.carrel.spi.SandboxException;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.util.List;

/** Skills: kept for a tenant, and given to its sandboxes. */
public final class SkillRoutes {
  private static final String ALL = "/api/v1/skills";
  private static final String ONE = ALL + "/{skill}";
  private static final String OF_SANDBOX = "/api/v1/sandboxes/{id}/skills";

  private final Skills skills;

  SkillRoutes(Skills skills) {
    this.skills = skills;
  }

  void addTo(Router router) {
    router
        .post(ALL + "/upload", this::upload)
        .get(ALL, this::list)
        .get(ONE, this::get)
        .get(ONE + "/files/{path...}", this::file)
        .delete(ONE, this::delete)
        .post(OF_SANDBOX, this::install)
        .get(OF_SANDBOX, this::installed);
  }

  private void upload(Exchange exchange) throws IOException, InterruptedException {
    Upload done;
    if (exchange.hasContentType("multipart/form-data")) {
      done = form(exchange);
    } else {
      String filename =
          exchange
              .query()
              .text("filename")
              .orElseThrow(() -> SandboxException.invalid("filename", "is required"));
      done = skills.upload(exchange.caller(), filename, exchange.body());
    }
    if (done.change() == Upload.Change.ADDED) {
      exchange.header(HeaderNames.LOCATION, ALL + "/" + done.skill().id());
    }
    exchange.json(done.change() == Upload.Change.ADDED ? 201 : 200, View.of(done.skill()));
  }

  private Upload form(Exchange exchange) throws IOException, InterruptedException {
    var parts =
        new Multipart(exchange.body(), exchange.header(HeaderNames.CONTENT_TYPE).orElse(""));
    for (Multipart.Part part = parts.next(); part != null; part = parts.next()) {
      if (!part.filename().isEmpty()) {
        return skills.upload(exchange.caller(), part.filename(), part.content());
      }
    }
    throw HttpProblem.unreadable("body", "has no part with a file name");
  }

  private void list(Exchange exchange) {
    exchange.json(200, new Page(skills.list(exchange.caller()).stream().map(View::of).toList()));
  }

  private void get(Exchange exchange) {
    String reference = exchange.parameter("skill");
    Skill skill = skills.get(exchange.caller(), reference);
    exchange.json(200, Details.of(skill, skills.files(exchange.caller(), reference)));
  }

  private void file(Exchange exchange) {
    String path = FilePath.of(exchange);
    byte[] bytes = skills.read(exchange.caller(), exchange.parameter("skill"), path);
    String name = path.substring(path.lastIndexOf('/') + 1);
    Download.describe(exchange, "attachment", name).bytes(200, bytes);
  }

  private void delete(Exchange exchange) {
    skills.delete(exchange.caller(), exchange.parameter("skill"));
    exchange.noContent();
  }

  private void install(Exchange exchange) throws IOException, InterruptedException {
    Fields fields = exchange.fields();
    List<String> wanted = fields.words("skill_ids").orElseThrow(() -> fields.missing("skill_ids"));
    exchange.json(
        200, InstallationView.of(skills.install(exchange.caller(), Ids.sandbox(exchange), wanted)));
  }

  private void installed(Exchange exchange) {
    exchange.json(
        200,
        new InstalledPage(
            InstalledView.of(skills.installed(exchange.caller(), Ids.sandbox(exchange)))));
  }

  record Page(List<View> skills) {}

  record InstalledPage(List<InstalledView> skills) {}

  record View(
      String id,
      String name,
      String description,
      String sourceType,
      @JsonRawValue String skillMetadata,
      String digest,
      int version,
      long packageSizeBytes,
      long sizeBytes,
      int fileCount,
      String createdBy,
      String createdAt,
      String updatedAt) {
    static View of(Skill skill) {
      return new View(
          skill.id().value(),
          skill.name(),
          skill.description(),
          skill.source().wireName(),
          skill.frontMatter(),
          skill.digest(),
          skill.version(),
          skill.packageBytes(),
          skill.sizeBytes(),
          skill.fileCount(),
          skill.createdBy(),
          skill.createdAt().toString(),
          skill.updatedAt().toString());
    }
  }

  /** A skill with its files. */
  record Details(@JsonUnwrapped View skill, List<FileView> files) {
    static Details of(Skill skill, List<SkillFile> files) {
      return new Details(View.of(skill), files.stream().map(FileView::of).toList());
    }
  }

  record FileView(String path, long sizeBytes, boolean executable, String digest) {
    static FileView of(SkillFile file) {
      return new FileView(file.path(), file.size(), file.executable(), file.digest());
    }
  }

  record InstalledView(
      String id, String name, int version, String digest, String path, String installedAt) {
    static List<InstalledView> of(List<Installed> all) {
      return all.stream().map(InstalledView::of).toList();
    }

    private static InstalledView of(Installed one) {
      return new InstalledView(
          one.id().value(),
          one.name(),
          one.version(),
          one.digest(),
          one.path(),
          one.at().toString());
    }
  }

  /** What came of installing. */
  public record InstallationView(
      List<InstalledView> installed,
      List<InstalledView> alreadyInstalled,
      List<String> notFound,
      List<FailureView> extractionErrors) {
    public static InstallationView of(Installation done) {
      return new InstallationView(
          InstalledView.of(done.installed()),
          InstalledView.of(done.already()),
          done.notFound(),
          done.failed().stream().map(FailureView::of).toList());
    }
  }

  record FailureView(String id, String name, String error, String code) {
    static FailureView of(Installation.Failure failure) {
      return new FailureView(
          failure.skill().id().value(),
          failure.skill().name(),
          ImportFiles.words(failure.cause()),
          failure.cause().code().wireName());
    }
  }
}
