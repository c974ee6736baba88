package dev.carrel.control.packages;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;

/**
 * How the clients are called: first to say what they would install, with all that it needs, then to
 * install exactly that. Never through a shell: names are arguments and nothing else.
 */
final class Clients {
  private static final String R_LIBRARY = "/workspace/.local/lib/R";
  private static final List<String> R =
      List.of("Rscript", "--no-save", "--no-restore", "--no-init-file", "-e");
  private static final String R_RESOLVE =
      """
      wanted <- commandArgs(TRUE); all <- available.packages()
      absent <- setdiff(wanted, rownames(all))
      if (length(absent)) { message('not in the repository: ', toString(absent)); quit(status = 1) }
      needed <- unlist(tools::package_dependencies(wanted, db = all, which = c('Depends', 'Imports', 'LinkingTo'), recursive = TRUE))
      there <- rownames(installed.packages(lib.loc = c('LIB', .libPaths())))
      for (p in union(wanted, intersect(setdiff(needed, there), rownames(all)))) cat(p, all[p, 'Version'], '-\\n')
      """
          .replace("LIB", R_LIBRARY);
  private static final String R_INSTALL =
      ("lib <- 'LIB'; dir.create(lib, recursive = TRUE, showWarnings = FALSE); .libPaths(c(lib,"
              + " .libPaths())); wanted <- commandArgs(TRUE); install.packages(wanted, lib = lib,"
              + " dependencies = NA); quit(status = if (all(wanted %in%"
              + " rownames(installed.packages(lib)))) 0 else 1)")
          .replace("LIB", R_LIBRARY);
  private static final String R_VERSIONS =
      ("for (p in commandArgs(TRUE)) cat(p, tryCatch(as.character(packageVersion(p, lib.loc ="
              + " c('LIB', .libPaths()))), error = function(e) ''), '\\n')")
          .replace("LIB", R_LIBRARY);

  /** Where the clients find what the server keeps for them; not set: nowhere. */
  static final String MIRROR = "CARREL_PACKAGES";

  // The indexes that pip is set up with, each by way of the mirror. One with a user in it stays as
  // it is, and so does one that pip would not use: the mirror must not make it good.
  private static final String PIP_MIRROR =
      """
      import base64, json, os, subprocess, sys, tempfile
      from urllib.parse import urlsplit
      def mirrored():
        env, at = dict(os.environ), os.environ.get('CARREL_PACKAGES')
        try:
          from pip._internal.configuration import Configuration
          from pip._internal.models.index import PyPI
          found = Configuration(isolated=False); found.load(); found = dict(found.items())
        except Exception: return env
        def get(key):
          for s in (':env:.', 'install.', 'global.'):
            if s + key in found: return found[s + key].split()
          return []
        if not at or get('no-index'): return env
        trusted = get('trusted-host')
        def by_way(url):
          u = urlsplit(url)
          safe = u.scheme == 'https' or u.scheme == 'http' and (u.hostname in trusted or u.netloc in trusted)
          if not safe or '@' in u.netloc: return url
          return at + '/index/' + base64.urlsafe_b64encode(url.encode()).decode().rstrip('=') + '/'
        env['PIP_INDEX_URL'] = by_way((get('index-url') or [PyPI.simple_url])[0])
        env['PIP_EXTRA_INDEX_URL'] = ' '.join(map(by_way, get('extra-index-url')))
        env['PIP_TRUSTED_HOST'] = ' '.join(trusted + [urlsplit(at).hostname])
        return env
      """;

  // The report goes to a file: its metadata would drown the few words that are wanted.
  private static final String PIP_RESOLVE =
      PIP_MIRROR
          + """
          with tempfile.TemporaryDirectory() as d:
            r = os.path.join(d, 'report')
            c = subprocess.run([sys.executable, '-m', 'pip', 'install', '--dry-run', '--quiet', '--report', r] + sys.argv[1:], stdout=sys.stderr, env=mirrored()).returncode
            if c: sys.exit(c)
            for i in json.load(open(r))['install']:
              a = i['download_info'].get('archive_info', {})
              h = a.get('hashes', {}).get('sha256') or a.get('hash', '').partition('sha256=')[2]
              print(i['metadata']['name'], i['metadata']['version'], h or '-')
          """;
  // The input is a pipe of another user's, which cannot be opened by its name.
  private static final String PIP_INSTALL =
      PIP_MIRROR
          + """
          with tempfile.NamedTemporaryFile('w') as f:
            f.write(sys.stdin.read()); f.flush()
            sys.exit(subprocess.run([sys.executable, '-m', 'pip', 'install', '--no-deps', '-r', f.name] + sys.argv[1:], stdin=subprocess.DEVNULL, env=mirrored()).returncode)
          """;
  private static final String PIP_VERSIONS =
      """
      import sys; from importlib import metadata
      for n in sys.argv[1:]:
        try: print(n, metadata.version(n))
        except metadata.PackageNotFoundError: print(n)
      """;

  // In a folder of its own, so that nothing has changed when a rule refuses what it finds; whoever
  // asks names it, and removes it however this ends.
  private static final String NPM_RESOLVE =
      """
      const fs = require('fs'), path = require('path'), files = ['package.json', 'package-lock.json'];
      const folder = process.argv[1];
      fs.mkdirSync(folder, 0o700);
      for (const f of files) if (fs.existsSync(f)) fs.copyFileSync(f, path.join(folder, f));
      const lock = f => { try { return JSON.parse(fs.readFileSync(f)).packages || {} } catch { return {} } };
      const before = lock('package-lock.json');
      const r = require('child_process').spawnSync('npm', ['install', '--package-lock=true', '--package-lock-only',
        '--ignore-scripts', '--prefix', folder, ...process.argv.slice(2)], {cwd: folder, stdio: ['ignore', 2, 2]});
      if (r.error) { console.error(r.error.message); process.exit(127) }
      if (r.status !== 0) process.exit(r.status || 1);
      for (const [at, p] of Object.entries(lock(path.join(folder, 'package-lock.json'))))
        if (at && !p.link && (before[at] || {}).version !== p.version)
          console.log(p.name || at.slice(at.lastIndexOf('node_modules/') + 13), p.version, '-');
      """;
  // npm looks for a file of a lock by its digest in its own cache before it asks anybody: what the
  // mirror has is put there, under the digest that it really has. Without it npm goes out itself.
  private static final String NPM_INSTALL =
      """
      const fs = require('fs'), path = require('path'), http = require('http'), crypto = require('crypto');
      const folder = process.argv[1], mirror = process.env.CARREL_PACKAGES, proxy = process.env.HTTP_PROXY;
      for (const f of ['package.json', 'package-lock.json']) fs.copyFileSync(path.join(folder, f), f);
      const packages = JSON.parse(fs.readFileSync('package-lock.json')).packages || {};
      const content = path.join(process.env.npm_config_cache || path.join(require('os').homedir(), '.npm'), '_cacache/content-v2/sha512');
      const place = hex => path.join(content, hex.slice(0, 2), hex.slice(2, 4), hex.slice(4));
      const wanted = new Map();
      for (const p of Object.values(packages)) {
        const d = /(?:^| )sha512-([A-Za-z0-9+/=]{88})(?: |$)/.exec(p.integrity || '');
        if (!d || !/^https?:/.test(p.resolved || '')) continue;
        const hex = Buffer.from(d[1], 'base64').toString('hex');
        if (!fs.existsSync(place(hex))) wanted.set(hex, p.resolved.split('#')[0]);
      }
      const load = (hex, url) => new Promise(done => {
        const to = new URL(proxy), host = new URL(mirror).host, part = path.join(folder, hex);
        const at = `${mirror}/file/sha512-${hex}/${Buffer.from(url).toString('base64url')}/package.tgz`;
        http.get({host: to.hostname, port: to.port, path: at, headers: {Host: host}}, r => {
          if (r.statusCode !== 200) { r.resume(); r.on('close', done); return }
          const sum = crypto.createHash('sha512'), out = fs.createWriteStream(part);
          r.on('data', b => sum.update(b));
          require('stream').pipeline(r, out, e => {
            if (!e && sum.digest('hex') === hex) {
              fs.mkdirSync(path.dirname(place(hex)), {recursive: true});
              fs.copyFileSync(part, place(hex));
            }
            fs.rmSync(part, {force: true}); done();
          });
        }).on('error', done);
      });
      const queue = mirror && proxy ? [...wanted] : [];
      const work = async () => { for (let o; (o = queue.pop());) await load(...o) };
      Promise.all(Array.from({length: 6}, work)).then(() => {
        const r = require('child_process').spawnSync('npm', ['install', ...process.argv.slice(2)], {stdio: 'inherit'});
        process.exit(r.error ? 127 : r.status === null ? 1 : r.status);
      });
      """;
  private static final List<String> NPM_QUIET =
      List.of("--no-audit", "--no-fund", "--no-update-notifier");
  private static final String NPM_VERSIONS =
      "for (const n of process.argv.slice(1)) { let v = ''; try { v ="
          + " JSON.parse(require('fs').readFileSync('node_modules/' + n +"
          + " '/package.json')).version } catch {} console.log(n, v) }";

  private Clients() {}

  /**
   * Prints a line for each package that would be installed: name, version, digest or a dash.
   *
   * @param place where npm writes it down, inside the sandbox; not there yet
   */
  static List<String> resolve(InstallPackages request, Duration minAge, String place) {
    var command = new ArrayList<String>();
    switch (request.client()) {
      case PIP -> {
        command.addAll(List.of("python3", "-c", PIP_RESOLVE));
        command.addAll(pip(request));
        if (minAge.isPositive()) {
          command.add("--uploaded-prior-to=" + before(minAge));
        }
        command.add("--");
      }
      case NPM -> {
        command.addAll(List.of("node", "-e", NPM_RESOLVE, "--", place));
        command.addAll(NPM_QUIET);
        if (minAge.isPositive()) {
          command.add("--before=" + before(minAge));
        }
        command.add("--");
      }
      case R -> {
        command.addAll(R);
        command.add(R_RESOLVE);
      }
    }
    boolean plain = request.client() == PackageClient.R;
    request.requirements().forEach(one -> command.add(plain ? one.name() : one.text()));
    return command;
  }

  /**
   * Installs what was resolved; pip reads it from its input, npm in the place it was written to.
   */
  static List<String> install(InstallPackages request, String place) {
    var command = new ArrayList<String>();
    switch (request.client()) {
      case PIP -> {
        command.addAll(List.of("python3", "-c", PIP_INSTALL));
        command.addAll(pip(request));
      }
      case NPM -> {
        command.addAll(List.of("node", "-e", NPM_INSTALL, "--", place));
        command.addAll(NPM_QUIET);
        if (!request.scripts()) {
          command.add("--ignore-scripts");
        }
      }
      case R -> {
        command.addAll(R);
        command.add(R_INSTALL);
        request.requirements().forEach(one -> command.add(one.name()));
      }
    }
    return command;
  }

  private static List<String> pip(InstallPackages request) {
    var options =
        new ArrayList<>(
            List.of(
                "--user",
                "--no-input",
                "--no-cache-dir",
                "--disable-pip-version-check",
                "--no-warn-script-location"));
    if (!request.scripts()) {
      // A wheel is unpacked; a source distribution runs its own build.
      options.add("--only-binary=:all:");
    }
    return options;
  }

  /** Prints a line for each, the name and its version if it is there. */
  static List<String> versions(InstallPackages request) {
    List<String> program =
        switch (request.client()) {
          case PIP -> List.of("python3", "-c", PIP_VERSIONS);
          case NPM -> List.of("node", "-e", NPM_VERSIONS, "--");
          case R ->
              List.of("Rscript", "--no-save", "--no-restore", "--no-init-file", "-e", R_VERSIONS);
        };
    var command = new ArrayList<>(program);
    request.requirements().forEach(one -> command.add(one.name()));
    return command;
  }

  private static String before(Duration minAge) {
    return Instant.now().minus(minAge).truncatedTo(ChronoUnit.SECONDS).toString();
  }
}
