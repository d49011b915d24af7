#!/usr/bin/env bash
# Coverage of compiler/ and runtime/ by the tests: builds the preset `coverage`, runs ctest and prints
# a table of folders, lines and branches, and every function that nothing ran, with its reason from
# tests/support/uncovered.txt.  Fails if one has none (see support/coverage.py).
#   tests/coverage.sh [--report|--quick] [CTEST OPTIONS..]
#   --report  only print: what an earlier run counted
#   --quick   tests of a few seconds that reach most of it: what CI runs.  They leave functions out that
#             others run; of the list they say which entries are run, and how many are left out
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=support/setup.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/support/setup.sh"
build=$tilec_root/build/coverage
reasons=$tilec_root/tests/support/uncovered.txt
part=()

count() { # PROGRAMS CTEST OPTIONS..: what fails here fails in the other builds, too
   tilec_build coverage "$1"
   shift
   find "$build" -name '*.gcda' -delete
   ctest --test-dir "$build" -j "$(nproc)" --timeout 1800 "$@" || true
}

case ${1:-} in
--report) ;;
--quick)
   part=(--part)
   # golden.run is a fifth of what the others take, for one line in a hundred.
   count tilec_quick_programs -R '^(unit|golden|fuzz|lsp|cli|sema)\.|^(view\.pages|docs\.reference)$' \
      -E '^(unit\.(headers|runtime_python)|golden\.run)$' "${@:2}"
   ;;
*)
   # Unoptimised and counted it is slow: bounds on time are not for this build, and programs of
   # examples are not built.
   count tilec_test_programs -E '^(compile\.|launch\.|soak|house\.|example\.|distributed\.|unit\.runtime_python$)' "$@"
   ;;
esac
command -v python3 >/dev/null || tilec_die "the report needs python3"
python3 "$tilec_root/tests/support/coverage.py" "$tilec_root" "$build" "$reasons" "${part[@]}"
