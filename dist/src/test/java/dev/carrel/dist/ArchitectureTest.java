package dev.carrel.dist;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackages;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import dev.carrel.spi.Engine;
import dev.carrel.spi.Machine;
import org.junit.jupiter.api.Test;

/**
 * What ARCHITECTURE.md and CONTRIBUTING.md say about dependencies and names, where Maven cannot say
 * it.
 */
class ArchitectureTest {
  private static final JavaClasses CARREL =
      new ClassFileImporter()
          .withImportOption(new ImportOption.DoNotIncludeTests())
          .importPackages("dev.carrel");

  @Test
  void spiDependsOnNothing() {
    ArchRule rule =
        noClasses()
            .that(resideInAPackage("dev.carrel.spi.."))
            .should()
            .dependOnClassesThat(
                resideOutsideOfPackages(
                    "dev.carrel.spi..", "java..", "org.jspecify.annotations.."));
    rule.check(CARREL);
  }

  @Test
  void proxyKnowsNothingOfSandboxes() {
    ArchRule rule =
        noClasses()
            .that(resideInAPackage("dev.carrel.egress.."))
            .should()
            .dependOnClassesThat(
                resideInAPackage("dev.carrel..")
                    .and(resideOutsideOfPackages("dev.carrel.egress.."))
                    .as("the rest of Carrel"));
    rule.check(CARREL);
  }

  @Test
  void imageStoreKnowsOnlyTheVocabulary() {
    ArchRule rule =
        noClasses()
            .that(resideInAPackage("dev.carrel.image.."))
            .should()
            .dependOnClassesThat(
                resideInAPackage("dev.carrel..")
                    .and(resideOutsideOfPackages("dev.carrel.image..", "dev.carrel.spi.."))
                    .as("the rest of Carrel"));
    rule.check(CARREL);
  }

  @Test
  void controlKnowsNoTransport() {
    ArchRule rule =
        noClasses()
            .that(resideInAPackage("dev.carrel.control.."))
            .should()
            .dependOnClassesThat(
                resideInAnyPackage(
                    "io.helidon..",
                    "java.net.http..",
                    "com.sun.net.httpserver..",
                    "io.micrometer..",
                    "dev.carrel.server..",
                    "dev.carrel.dist..",
                    "dev.carrel.cli..",
                    "dev.carrel.sdk.."));
    rule.check(CARREL);
  }

  @Test
  void controlReadsJsonOnlyWhereItIsWhatIsCarried() {
    ArchRule rule =
        noClasses()
            .that(resideInAPackage("dev.carrel.control.."))
            .and(
                resideOutsideOfPackages(
                    "dev.carrel.control.bridge..",
                    "dev.carrel.control.packages..",
                    "dev.carrel.control.skill.."))
            .should()
            .dependOnClassesThat(resideInAnyPackage("com.fasterxml.jackson.."));
    rule.check(CARREL);
  }

  @Test
  void controlKnowsNoEngine() {
    ArchRule rule =
        noClasses()
            .that(resideInAPackage("dev.carrel.control.."))
            .should()
            .dependOnClassesThat(resideInAPackage("dev.carrel.engine.."));
    rule.check(CARREL);
  }

  @Test
  void serverNeverNamesEngineOrMachine() {
    ArchRule rule =
        noClasses()
            .that(resideInAPackage("dev.carrel.server.."))
            .should()
            .dependOnClassesThat()
            .areAssignableTo(Engine.class)
            .orShould()
            .dependOnClassesThat()
            .areAssignableTo(Machine.class);
    rule.check(CARREL);
  }

  @Test
  void onlyTheServersEdgeTouchesTheWebServer() {
    ArchRule rule =
        noClasses()
            .that(resideOutsideOfPackages("dev.carrel.server", "dev.carrel.server.http"))
            .should()
            .dependOnClassesThat(resideInAPackage("io.helidon.webserver.."));
    rule.check(CARREL);
  }

  @Test
  void nobodyButTheServerKnowsHelidon() {
    ArchRule rule =
        noClasses()
            .that(resideOutsideOfPackages("dev.carrel.server.."))
            .should()
            .dependOnClassesThat(resideInAPackage("io.helidon.."));
    rule.check(CARREL);
  }

  @Test
  void cliUsesTheSdkOnly() {
    ArchRule rule =
        noClasses()
            .that(resideInAPackage("dev.carrel.cli.."))
            .should()
            .dependOnClassesThat(
                resideInAnyPackage(
                    "dev.carrel.spi..",
                    "dev.carrel.guest..",
                    "dev.carrel.control..",
                    "dev.carrel.server..",
                    "dev.carrel.dist.."));
    rule.check(CARREL);
  }

  @Test
  void sdkKnowsNothingOfTheServer() {
    ArchRule rule =
        noClasses()
            .that(resideInAPackage("dev.carrel.sdk.."))
            .should()
            .dependOnClassesThat(
                resideInAPackage("dev.carrel..")
                    .and(resideOutsideOfPackages("dev.carrel.sdk.."))
                    .as("the rest of Carrel"));
    rule.check(CARREL);
  }

  @Test
  void onlyDistSeesEverything() {
    ArchRule rule =
        noClasses()
            .that(resideOutsideOfPackages("dev.carrel.dist.."))
            .should()
            .dependOnClassesThat(resideInAPackage("dev.carrel.dist.."));
    rule.check(CARREL);
  }

  @Test
  void enginesSeeOnlySpi() {
    ArchRule rule =
        noClasses()
            .that(resideInAPackage("dev.carrel.engine.."))
            .should()
            .dependOnClassesThat(
                resideInAnyPackage(
                    "dev.carrel.guest..",
                    "dev.carrel.control..",
                    "dev.carrel.server..",
                    "dev.carrel.cli.."));
    rule.check(CARREL);
  }

  @Test
  void variablesAreReadInConfigurationOnly() {
    // The SDK is part of other people's programs, which have no configuration of ours.
    ArchRule rule =
        noClasses()
            .that(
                resideOutsideOfPackages(
                    "dev.carrel.dist.config..", "dev.carrel.bench..", "dev.carrel.sdk.."))
            .should()
            .callMethod(System.class, "getenv")
            .orShould()
            .callMethod(System.class, "getenv", String.class);
    rule.check(CARREL);
  }

  @Test
  void namesSayWhatAThingIs() {
    ArchRule rule =
        classes()
            .should()
            .haveNameNotMatching(".*(Manager|Helper|Utils?|Impl|Dto|DTO|Processor)(\\$.*)?");
    rule.check(CARREL);
  }

  @Test
  void nothingIsPrintedBehindTheCommandLine() {
    ArchRule rule =
        noClasses()
            .that(resideOutsideOfPackages("dev.carrel.bench.."))
            .should()
            .accessField(System.class, "out")
            .orShould()
            .accessField(System.class, "err");
    rule.check(CARREL);
  }

  @Test
  void packagesHaveNoCycles() {
    ArchRule rule = slices().matching("dev.carrel.(**)").should().beFreeOfCycles();
    rule.check(CARREL);
  }
}
