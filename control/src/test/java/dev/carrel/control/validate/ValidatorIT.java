package dev.carrel.control.validate;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.MALLORY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxQuery;
import dev.carrel.control.validate.CheckCode.OnDanger;
import dev.carrel.control.validate.Verdict.Finding;
import dev.carrel.control.validate.Verdict.Severity;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ValidatorIT {
  private ControlFixture fixture;

  @BeforeEach
  void open() throws IOException {
    fixture = new ControlFixture();
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "python | x = 1; print(x)          | x = (1 +          | 1",
        "python | await x()                 | def f(:          | 1",
        "node   | import a from 'a'; await 1 | let let = 2      | 1",
        "node   | const f = require('fs')   | function ( {      | 1",
        "bash   | if true; then echo a; fi  | if true; then     | 2",
        "r      | x <- c(1, 2)              | x <- c(1, 2))     | 1",
      })
  void syntaxIsReadWithoutRunningAnything(String language, String good, String bad, int line)
      throws Exception {
    assertThat(check(language, good, OnDanger.WARN).valid()).isTrue();
    Verdict broken = check(language, bad, OnDanger.OFF);

    assertThat(broken.valid()).isFalse();
    assertThat(broken.findings()).hasSize(1);
    Finding finding = broken.findings().getFirst();
    assertThat(finding.rule()).isEqualTo("syntax");
    assertThat(finding.severity()).isEqualTo(Severity.ERROR);
    assertThat(finding.line()).isEqualTo(line);
    assertThat(finding.message()).isNotBlank();
    // What was made to look is gone.
    assertThat(fixture.control().sandboxes().list(ALICE, SandboxQuery.all()).total()).isZero();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "import os; os.system('x')                       | os.system        | CRITICAL",
        "from os import system as s; s('x')               | os.system        | CRITICAL",
        "eval('1')                                        | eval             | CRITICAL",
        "exec('1')                                        | exec             | CRITICAL",
        "import subprocess as p; p.run('x', shell=True)   | subprocess-shell | HIGH",
        "__import__('os')                                 | __import__       | HIGH",
        "import pickle; pickle.loads(b'')                 | pickle.loads     | HIGH",
        "import shutil; shutil.rmtree('x')                | shutil.rmtree    | MEDIUM",
        "import ctypes                                    | ctypes           | MEDIUM",
        "import socket; socket.socket()                   | socket.socket    | MEDIUM",
      })
  void dangersAreFoundWhateverTheyAreCalled(String code, String rule, Severity severity)
      throws Exception {
    Verdict rejected = check("python", code, OnDanger.REJECT);
    assertThat(rejected.valid()).isFalse();
    assertThat(rejected.findings())
        .singleElement()
        .satisfies(
            finding -> {
              assertThat(finding.rule()).isEqualTo(rule);
              assertThat(finding.severity()).isEqualTo(severity);
              assertThat(finding.line()).isEqualTo(1);
            });
    assertThat(check("python", code, OnDanger.WARN).valid()).isTrue();
    assertThat(check("python", code, OnDanger.OFF).findings()).isEmpty();
    assertThat(check("python", "'" + rule + "()'  # " + rule, OnDanger.REJECT).valid()).isTrue();
    assertThat(check("python", "p.run('x', shell=False)", OnDanger.REJECT).valid()).isTrue();
  }

  @Test
  void missingImportsAreAdded() throws Exception {
    String code =
        """
        '''Doc.'''
        from __future__ import annotations
        print(os.getcwd(), np.pi)
        re = 1
        """;
    Verdict verdict = check("python", code, OnDanger.REJECT);

    assertThat(verdict.valid()).isTrue();
    assertThat(verdict.imports()).containsExactly("import numpy as np", "import os");
    assertThat(verdict.fixed())
        .isEqualTo(
            """
            '''Doc.'''
            from __future__ import annotations
            import numpy as np
            import os
            print(os.getcwd(), np.pi)
            re = 1
            """);
    var plain = new CheckCode(code, Language.PYTHON, null, OnDanger.WARN, false);
    assertThat(fixture.control().validator().check(ALICE, plain).fixed()).isNull();
  }

  @Test
  void itLooksInASandboxOfTheCallersOnly() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    var there = new CheckCode("x = 1", Language.PYTHON, sandbox.id(), OnDanger.WARN, true);

    assertThat(fixture.control().validator().check(ALICE, there).valid()).isTrue();
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> fixture.control().validator().check(MALLORY, there));
  }

  private Verdict check(String language, String code, OnDanger onDanger) throws Exception {
    return fixture
        .control()
        .validator()
        .check(ALICE, new CheckCode(code, Language.parse(language), null, onDanger, true));
  }
}
