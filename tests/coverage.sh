#!/usr/bin/env bash
# Coverage of compiler/ and runtime/ by the tests: builds the preset `coverage`, runs ctest and prints
# a table of folders, lines and branches, and every function that nothing ran, with its reason from
# tests/support/uncovered.txt.  Fails if one has none (see support/coverage.py).
#   tests/coverage.sh [--report] [CTEST OPTIONS..]
#   --report  only print: what an earlier run counted
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=support/setup.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/support/setup.sh"
build=$tilec_root/build/coverage

if [[ ${1:-} != --report ]]; then
   tilec_build coverage tilec_test_programs
   find "$build" -name '*.gcda' -delete
   # Unoptimised and counted it is slow: bounds on time are not for this build.
   ctest --test-dir "$build" -j "$(nproc)" --timeout 1800 -E '^(compile\.|launch\.|soak|house\.)' "$@" || true
fi
command -v python3 >/dev/null || tilec_die "the report needs python3"
python3 "$tilec_root/tests/support/coverage.py" "$tilec_root" "$build" "$tilec_root/tests/support/uncovered.txt"
