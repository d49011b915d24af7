#!/usr/bin/env bash
# check_commands.sh SOURCE_DIR: tests/run.sh and dsl_examples/run.sh with stand-ins for apt, cmake and
# ctest: quiet when all is well, the output that matters when something fails, a closing line.
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
failed=0
tree="$work/a tree"
mkdir -p -- "$work/bin" "$tree"/{tests/support,tests/fuzz,dsl_examples,build/release/{bin,examples,out}}
cp -- "$source/tests/run.sh" "$tree/tests"
cp -- "$source/tests/support/setup.sh" "$tree/tests/support"
cp -- "$source/dsl_examples/run.sh" "$tree/dsl_examples"

stand_in() { # PATH, text from standard input
   { echo '#!/bin/bash'; cat; } >"$1"
   chmod +x -- "$1"
}
stand_in "$work/bin/apt-get" <<<'echo "apt: noise"; [[ " $* " != *" $APT_FAILS "* ]]'
stand_in "$work/bin/dpkg-query" <<<'echo "$PACKAGES"'
stand_in "$work/bin/apt-cache" <<<'echo "  Candidate: 1:22"'
stand_in "$work/bin/clang-22" <<<'echo "$FUZZER_IN${1#*=}"'
stand_in "$work/bin/cmake" <<'CODE'
for k in {1..3000}; do echo "[$k/3000] Building C object noise.o"; done # more than a pipe holds
if [[ $BUILD_FAILS ]]; then
   printf 'FAILED: compiler/noise.o\ncc -c noise.c\nnoise.c:1:1: error: unheard of\n[3/3] more noise\n'
   exit 1
fi
CODE
stand_in "$work/bin/ctest" <<'CODE'
echo '      Start   1: unit.base'
echo '1/3 Test   #1: unit.base ...........   Passed    0.01 sec'
echo '      Start   2: unit.ir'
if [[ $TEST_FAILS ]]; then
   printf '2/3 Test   #2: unit.ir .............***Failed    0.01 sec\n[  ERROR   ] --- 4 != 5\n\n'
else
   echo '2/3 Test   #2: unit.ir .............   Passed    0.01 sec'
fi
echo '      Start   3: gpu.aot'
echo '3/3 Test   #3: gpu.aot .............***Skipped   0.01 sec'
printf '\n99%% tests passed, %d tests failed out of 3\n\n' "${TEST_FAILS:-0}"
printf 'Total Test time (real) =   0.03 sec\n'
exit "${TEST_FAILS:-0}"
CODE
stand_in "$tree/tests/fuzz/run.sh" <<<'echo searched'
stand_in "$tree/tests/coverage.sh" <<'CODE'
[[ $* == --quick ]] || exit 2
printf 'noise\nall   %s of     100 lines   %s.0 %%       8 of      10 branches   80.0 %%\n' "${LINES_RUN:-95}" "${LINES_RUN:-95}"
((${LINES_RUN:-95} >= 92)) || { echo 'fewer than 92 % of the lines run'; exit 1; }
CODE
stand_in "$tree/build/release/bin/tilec" <<<'while [[ $1 != -o ]]; do shift; done; echo ptx >"$2"'
stand_in "$tree/build/release/examples/one" <<'CODE'
printf 'elu N=1  on cpu  rel L2 3.0e-08  ok\nelu N=2  on cpu  rel L2 %s\n' "${RESULT:-2.0e-07  ok}"
[[ ! $RESULT ]]
CODE
mkdir -p -- "$tree"/build/{release,clang,asan,tsan,coverage,fuzz}
touch -- "$tree"/build/{release,clang,asan,tsan,coverage,fuzz}/build.ninja

# run CODE SCRIPT [NAME=VALUE..]: runs it and compares its exit code
run() {
   local wanted=$1 script=$2 code=0
   shift 2
   env PATH="$work/bin:$PATH" PACKAGES=ii APT_FAILS=none FUZZER_IN=/lib/ TILEC_PTXAS=/bin/true \
      TILEC_TEST_SECONDS=900 "$@" "$tree/$script" >"$work/said" 2>&1 </dev/null || code=$?
   [[ $code == "$wanted" ]] || fail "$script $*: exit code $code"
}
fail() {
   printf 'FAIL %s\n' "$*"
   sed 's/^/   /' "$work/said"
   failed=1
}
# says PATTERN.., or after "not" must not
says() {
   local not=''
   for pattern in "$@"; do
      if [[ $pattern == not ]]; then
         not=1
      elif [[ $not ]]; then
         ! grep -qE -- "$pattern" "$work/said" || fail "it says '$pattern'"
      else
         grep -qE -- "$pattern" "$work/said" || fail "it does not say '$pattern'"
      fi
   done
}

run 0 tests/run.sh TILEC_TEST_SECONDS= # the machine's speed says it
says '^== building release: [0-9]+ s$' '^== testing release: [0-9]+ s$' '99% tests passed' \
   '^== testing fuzz: ' '^== building tsan: ' '^searched$' \
   '^== in all 6 tests passed, 3 skipped, 0 failed in [0-9]+ s' \
   '^== counting lines and branches: [0-9]+ s$' '^all +95 of +100 lines +95.0 %' not noise 'Test +#' \
   'building (asan|clang)'
grep -q 'unit.base' "$tree/build/tests.log" || fail "no log"
run 1 tests/run.sh TEST_FAILS=1
says '^== testing release: FAILED after' '4 != 5' '3 failed in' '^== failed: release fuzz tsan' \
   not 'unit.base' 'gpu.aot'
run 0 tests/run.sh FUZZER_IN= # clang 22 without libFuzzer
says '^== building clang: ' '^== testing asan: ' 'nothing is searched' not 'fuzz: ' '^searched$'
run 1 tests/run.sh LINES_RUN=91
says '^== counting lines and branches: FAILED' '^all +91 of' '^fewer than 92 % of the lines run' \
   '^== failed: coverage$'
run 1 tests/run.sh BUILD_FAILS=1
says '^== building release: FAILED' 'error: unheard of' 'All of it: .*tests.log' not 'Building C' testing
run 3 tests/run.sh PACKAGES=un APT_FAILS=install
says 'installing [0-9]+ packages: .*FAILED' 'apt: noise' 'cannot be installed' not building
run 0 tests/run.sh PACKAGES=un
says 'installing [0-9]+ packages: .*[0-9] s$' not noise

run 0 dsl_examples/run.sh
says '^== running one: [0-9]+ s$' '2 results on cpu within their bounds, largest relative error 2e-07' \
   '2 results of 1 examples are right, 0 examples failed' 'elu.tile -> build/release/out/elu.ptx' \
   not noise 'N=1'
grep -q 'elu N=1 ' "$tree/build/examples.log" || fail "no log"
run 1 dsl_examples/run.sh RESULT='9.0e-01  WRONG'
says '^== running one: FAILED' 'elu N=2 .*WRONG' '1 examples failed \(one\) in'
exit "$failed"
