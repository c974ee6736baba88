# ./carrel test: every test of the repository, and a table of what ran. Sourced by ./carrel.

test_packages=(
  maven:mvn make:make gcc:gcc musl-tools:musl-gcc clang-14:clang-14 curl:curl util-linux:setpriv bsdutils:script
  'python3:!/usr/bin/python3 -V' 'python3-ipython:!/usr/bin/python3 -c "import IPython"'
  'python3-matplotlib:!/usr/bin/python3 -c "import matplotlib"' 'python3-pandas:!/usr/bin/python3 -c "import pandas"'
  'nodejs:!node -e "process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)"'
  r-base-core:Rscript 'r-cran-ggplot2:!Rscript -e "library(ggplot2)"' 'r-cran-htmlwidgets:!Rscript -e "library(htmlwidgets)"'
  'python3-venv:!/usr/bin/python3 -c "import ensurepip"' npm:npm
  mmdebstrap:mmdebstrap docker-registry:docker-registry runc:runc crun:crun runsc:runsc 'docker.io:!command -v dockerd || test -x /usr/sbin/dockerd' uidmap:newuidmap 'e2fsprogs:!test -x /usr/sbin/mke2fs || test -x /sbin/mke2fs'
)
# The guest has to compile for the other kind of processor too.
case "$(uname -m)" in
  aarch64) test_packages+=(gcc-x86-64-linux-gnu:x86_64-linux-gnu-gcc 'libc6-dev-amd64-cross:!test -e /usr/x86_64-linux-gnu/include/stdio.h') ;;
  *) test_packages+=(gcc-aarch64-linux-gnu:aarch64-linux-gnu-gcc 'libc6-dev-arm64-cross:!test -e /usr/aarch64-linux-gnu/include/stdio.h') ;;
esac

# Where the suites of EngineRun hold beside native, on which Maven runs everything. A further engine is a further word; those of
# Docker get a daemon of their own from the run.
e2e_engines=(runc crun runsc docker docker-runsc)

# Lines "part<TAB>passed<TAB>failed<TAB>skipped<TAB>note" of the parts that ran, and of those that could not.
results=''
# What failed says, a line each: the table has only its name.
failures=''
record() { results+="$1"$'\t'"$2"$'\t'"$3"$'\t'"$4"$'\t'"$5"$'\n'; }

run_tests() {
  local logs="$root/.carrel/test" missing started=$SECONDS suites=quick
  case "${1-}" in
    '') ;;
    --engines) suites=full ;;
    -h | --help)
      echo "usage: ./carrel test [--engines]"
      echo "Installs what the tests need, runs all of them and shows a table; with --engines the long suites on every engine."
      return
      ;;
    *) echo "usage: ./carrel test [--engines]" >&2; return 2 ;;
  esac
  mkdir -p "$logs"
  missing=$(missing_packages "${test_packages[@]}")
  if [ -n "$missing" ]; then
    (install_packages "to test" $missing) || true
    missing=$(missing_packages "${test_packages[@]}")
  fi
  [ -z "$missing" ] || note "going on without: $missing(what needs them is named below)"
  cd -- "$root"
  run_part --again guest "$logs/guest.log" make -C guest -s test
  run_part --again kernels "$logs/kernels.log" make -C kernels -s test
  run_java "$logs" "$suites"
  run_engines "$logs" "$suites"
  # Beside a server of the distribution that Maven built.
  run_part --again "sdk python" "$logs/sdk-python.log" timeout -k 30 900 sdks/python/test
  run_part --again "sdk typescript" "$logs/sdk-typescript.log" timeout -k 30 900 sdks/typescript/test.sh
  [ -z "$missing" ] || record "packages" 0 0 0 "not here: $missing"
  [ "$(id -u)" = 0 ] || record "as root" 0 0 0 "not run: you are $(id -un); the root half of the native engine's tests needs root"
  summary "$((SECONDS - started))"
}

# run_part [--again] NAME LOG COMMAND… runs tests whose log has a line "N passed, M failed", and lines "skipped: test: why".
# With --again those that failed run once more, as an integration test of Maven's would.
run_part() {
  local again= name log status=0 counts passed=0 failed=0 skipped why
  [ "$1" != --again ] || { again=1; shift; }
  name=$1 log=$2
  shift 2
  note "testing: $name (log: $log)"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if [ "$status" != 0 ] && [ -n "$again" ]; then
    mv -- "$log" "$log.first"
    status=0
    "$@" >"$log" 2>&1 </dev/null || status=$?
    if [ "$status" = 0 ]; then
      echo "skipped: FLAKY: passed when it ran again, see $log.first" >>"$log"
      what_it_said "$name" "$log.first"
    fi
  fi
  counts=$(grep -Eo '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1 || true)
  [ -z "$counts" ] || read -r passed _ failed _ <<<"$counts"
  # A part that ended badly has failed, whatever it counted; so has one that counted nothing.
  if [ "$failed" = 0 ] && { [ "$status" != 0 ] || [ "$passed" = 0 ]; }; then failed=1; fi
  skipped=$(grep -c '^skipped: ' "$log" || true)
  why=$(sed -n 's/^skipped: //p' "$log" | paste -sd ';')
  if [ "$failed" != 0 ]; then
    why="status $status, see $log $why"
    what_it_said "$name" "$log"
  fi
  record "$name" "$passed" "$failed" "$skipped" "$why"
}

# what_it_said NAME LOG: the names of what failed, wherever they stand, and how the log ends.
what_it_said() {
  failures+="$({ grep -E '^(FAIL|ERROR|FAILED)[: ]' -- "$2" | head -n 20; tail -n 30 -- "$2"; } | sed "s/^/  $1: /" | cut -c 1-500)"$'\n'
}

# Every module to its end, so that one failure does not hide the others; the reports tell what failed. A test
# that failed runs again, at most twice, because it shares its machine with strangers: when it passes then, the table says FLAKY.
# Two modules at once, as far as they do not need each other: most tests wait more than they compute.
run_java() {
  local log="$1/maven.log" suites=$2 status=0
  note "testing: Java, all modules (log: $log)"
  find . -path ./node_modules -prune -o -type d \( -name surefire-reports -o -name failsafe-reports \) -print0 | xargs -0 rm -rf
  mvn -B -T 2 -f pom.xml -Dmaven.test.failure.ignore=true -Dsurefire.rerunFailingTestsCount=2 -Dfailsafe.rerunFailingTestsCount=2 -Dcarrel.suites="$suites" -fae verify >"$log" 2>&1 </dev/null || status=$?
  local module
  while IFS= read -r module; do
    java_module "$module"
  done < <(find . -type d \( -name surefire-reports -o -name failsafe-reports \) -not -path '*/node_modules/*' | sed 's|/target/.*||; s|^\./||' | sort -u)
  [ "$status" = 0 ] || record "java build" 0 1 0 "status $status, see $log"
}

# run_engines LOGS quick|full: the suites that every engine owes, on each of those that Maven did not run them on.
run_engines() {
  local engine
  if [ "$(id -u)" != 0 ]; then
    record "e2e engines" 0 0 0 "not run: ${e2e_engines[*]} need root for the limits and volumes that these suites use"
    return 0
  fi
  for engine in "${e2e_engines[@]}"; do
    run_part --again "e2e $engine" "$1/e2e-$engine.log" timeout -k 30 3600 "$JAVA_HOME/bin/java" \
      -Dcarrel.e2e.engine="$engine" -Dcarrel.root="$root" -Dcarrel.lib="$root/guest/build/lib" \
      -cp "e2e/target/test-classes:$(cat e2e/target/classpath)" dev.carrel.e2e.EngineRun "$2"
  done
}

java_module() {
  local counts
  counts=$({ cat "$1"/target/{surefire,failsafe}-reports/TEST-*.xml 2>/dev/null || true; } | awk '
    /<testsuite / {
      match($0, / tests="[0-9]+"/);    tests    += substr($0, RSTART + 8,  RLENGTH - 9)
      match($0, / errors="[0-9]+"/);   failed   += substr($0, RSTART + 9,  RLENGTH - 10)
      match($0, / failures="[0-9]+"/); failed   += substr($0, RSTART + 11, RLENGTH - 12)
      match($0, / skipped="[0-9]+"/);  skipped  += substr($0, RSTART + 10, RLENGTH - 11)
    }
    /<testcase / {
      match($0, / name="[^"]*"/);      name  = substr($0, RSTART + 7,  RLENGTH - 8)
      match($0, / classname="[^"]*"/); class = substr($0, RSTART + 12, RLENGTH - 13); sub(/.*[.]/, "", class)
    }
    /<skipped/ && !/<skipped\/>/ {
      # Said once of all tests of a class that did not run for the same reason; JUnit puts the condition before it.
      match($0, /message="[^"]*"/); reason = substr($0, RSTART + 9, RLENGTH - 10); sub(/.* ==&gt; /, "", reason)
      key = class SUBSEP reason
      if (!count[key]++) { keys[++last] = key; first[key] = class "." name; of[key] = class; reasons[key] = reason }
    }
    /<(failure|error)[ >]/ { bad = bad "; FAILED " name }
    /<flaky(Failure|Error)[ >]/ { bad = bad "; FLAKY " name " (passed when it ran again)" }
    END {
      for (i = 1; i <= last; i++) {
        key = keys[i]
        why = why "; " (count[key] == 1 ? first[key] : count[key] " tests of " of[key]) ": " reasons[key]
      }
      printf "%d\t%d\t%d\t%s", tests - failed - skipped, failed, skipped, substr(bad why, 3)
    }')
  [ -z "$counts" ] || results+="$1"$'\t'"$counts"$'\n'
  local said
  said=$({ cat "$1"/target/{surefire,failsafe}-reports/TEST-*.xml 2>/dev/null || true; } | awk '
    /<testcase / {
      match($0, / name="[^"]*"/);      name  = substr($0, RSTART + 7,  RLENGTH - 8)
      match($0, / classname="[^"]*"/); class = substr($0, RSTART + 12, RLENGTH - 13); sub(/.*[.]/, "", class)
    }
    /<(failure|error|flakyFailure|flakyError)[ >]/ {
      why = "no message, see the report"
      if (match($0, /message="[^"]*"/)) why = substr($0, RSTART + 9, RLENGTH - 10)
      gsub(/(&#10;|[[:space:]])+/, " ", why); gsub(/&lt;/, "<", why); gsub(/&gt;/, ">", why); gsub(/&quot;/, "\"", why); gsub(/&amp;/, "\\&", why)
      print "  " class "." name ": " substr(why, 1, 4000)
    }')
  [ -z "$said" ] || failures+="$said"$'\n'
}

summary() {
  local passed failed
  passed=$(printf '%s' "$results" | awk -F'\t' '{ n += $2 } END { print n + 0 }')
  failed=$(printf '%s' "$results" | awk -F'\t' '{ n += $3 } END { print n + 0 }')
  echo
  printf '%-22s %8s %8s %8s  %s\n' part passed failed skipped note
  printf '%s' "$results" | awk -F'\t' '{ printf "%-22s %8d %8d %8d  %s\n", $1, $2, $3, $4, $5 }'
  [ -z "$failures" ] || printf '\nwhat failed said:\n%s\n' "$failures"
  echo
  echo "in $1 s on $(uname -sr), $(nproc) cores, as $(id -un)"
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}
