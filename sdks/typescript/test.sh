#!/usr/bin/env bash
# Builds the TypeScript SDK and tests it, its README and its examples beside a server of the distribution.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
mkdir -p build
wanted=$(node -v; cat package.json)
if [ "$(cat build/installed 2>/dev/null)" != "$wanted" ]; then
  npm install --no-audit --no-fund --loglevel=error
  echo "$wanted" >build/installed
fi
rm -rf dist build/js build/shown
npx --no-install tsc -p tsconfig.json
# What README.md shows is compiled and run like a test.
mkdir -p build/shown
awk '/^```ts$/ { file = sprintf("build/shown/readme-%d.ts", ++n); inside = 1; next } /^```$/ { inside = 0 } inside { print > file }' README.md
npx --no-install tsc -p tsconfig.test.json
status=0
../with-server node --test --test-timeout=120000 --test-reporter=spec build/js/test/*.test.js 2>&1 | tee build/test.log || status=$?
awk '/^ℹ pass / { passed = $3 } /^ℹ fail / { failed = $3 } /^ℹ cancelled / { failed += $3 }
  END { printf "%d passed, %d failed\n", passed, failed }' build/test.log
exit "$status"
