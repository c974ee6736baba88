# What the host must have: a JDK and a few packages. Sourced by ./carrel.

note() { printf 'carrel: %s\n' "$*" >&2; }
fail() {
  note "$@"
  exit 125
}

# Sets and exports JAVA_HOME. The release file is read rather than `java -version` run: that would cost 50 ms each time.
find_jdk() {
  local java candidate
  java=$(command -v java || true)
  [ -z "$java" ] || java=$(dirname -- "$(dirname -- "$(readlink -f -- "$java")")")
  for candidate in "${JAVA_HOME-}" "$java" /usr/lib/jvm/* /opt/java/* /opt/jdk* \
    "${SDKMAN_DIR:-${HOME-}/.sdkman}"/candidates/java/*; do
    if [ "$(jdk_major "$candidate")" -ge 25 ] && [ -x "$candidate/bin/javac" ]; then
      export JAVA_HOME=$candidate
      return
    fi
  done
  note "no JDK 25 or newer in JAVA_HOME, on PATH, in /usr/lib/jvm or in SDKMAN. One of these adds it:"
  cat >&2 <<'HOW'
    sudo apt-get install openjdk-25-jdk-headless      Debian 14, Ubuntu 25.10 and later
    sdk install java 25-tem                           with SDKMAN (https://sdkman.io)
    https://adoptium.net/temurin/releases/?version=25 unpack anywhere, then export JAVA_HOME=that folder
HOW
  exit 125
}

jdk_major() {
  local version
  version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "${1:-/nonexistent}/release" 2>/dev/null || true)
  echo "${version:-0}"
}

# need_packages WHY PACKAGE:PROBE… installs the packages whose probe (a command, or a test starting with "!") fails, or stops.
need_packages() {
  local why=$1 missing
  shift
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  install_packages "$why" $missing
  missing=$(missing_packages "$@")
  [ -z "$missing" ] || fail "still missing $why: $missing"
}

missing_packages() {
  local entry package probe
  for entry in "$@"; do
    package=${entry%%:*}
    probe=${entry#*:}
    case "$probe" in
      '!'*) sh -c "${probe#!}" >/dev/null 2>&1 || printf '%s ' "$package" ;;
      *) command -v "$probe" >/dev/null 2>&1 || printf '%s ' "$package" ;;
    esac
  done
}

# install_packages WHY PACKAGE… says what it does, then does it. One that cannot be had does not keep the others out.
install_packages() {
  local why=$1 sudo='' log package
  shift
  note "needed $why and not here: $*"
  [ -z "${CARREL_NO_INSTALL-}" ] || fail "CARREL_NO_INSTALL is set. Install them yourself: apt-get install $*"
  command -v apt-get >/dev/null || fail "no apt-get on this system: install them your way, then come again"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "not root and no sudo. As root: apt-get install $*"
    sudo=sudo
    [ -t 0 ] || sudo -n true 2>/dev/null || fail "sudo would ask for a password here. As root: apt-get install $*"
    sudo -v
  fi
  mkdir -p "$root/.carrel"
  log="$root/.carrel/install.log"
  : >"$log"
  apt() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1; }
  note "installing with apt-get (log: $log)"
  apt update || note "apt-get update failed; trying with the lists that are here"
  apt install --no-install-recommends "$@" && return
  for package in "$@"; do
    apt install --no-install-recommends "$package" || note "could not install $package (see $log)"
  done
}

# with_progress WHAT LOG COMMAND… runs the command quietly; on a terminal one line tells how far it is. Shows the log's end on failure.
with_progress() {
  local what=$1 log=$2 started=$SECONDS pid status=0 step
  shift 2
  "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  trap 'kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; exit 130' INT TERM
  if [ -t 2 ]; then
    while kill -0 "$pid" 2>/dev/null; do
      step=$(sed -n 's/^\[INFO\] Building \([^ ]*\) .*\(\[[0-9]*\/[0-9]*\]\)$/\1 \2/p' "$log" | tail -n 1)
      printf '\r\033[K%s … %s %ss' "$what" "$step" "$((SECONDS - started))" >&2
      read -r -t 0.5 <> <(:) || true
    done
    printf '\r\033[K' >&2
  else
    note "$what; log: $log"
  fi
  wait "$pid" || status=$?
  trap - INT TERM
  if [ "$status" != 0 ]; then
    grep -E '^\[ERROR\]|error:' "$log" | head -n 30 >&2 || tail -n 30 "$log" >&2
    fail "$what failed with status $status. Whole log: $log"
  fi
  note "$what: done in $((SECONDS - started)) s"
}
