#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test that needs no GPU.  Prints a line for each
# step, what fails, and the closing lines of ctest; the rest is in build/tests.log.
#   tests/run.sh [--verbose] [--ptxas[=PATH]] [--no-asan]
#   --verbose  print everything
#   --ptxas    fail when no ptxas is found (without it: PTX is assembled if one is found)
#   --no-asan  leave out the builds with sanitizers and the one that counts lines
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=support/setup.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/support/setup.sh"

with_asan=1
for option in "$@"; do
   case $option in
   --ptxas=*)
      export TILEC_PTXAS=${option#--ptxas=}
      [[ -x $TILEC_PTXAS ]] || tilec_die "$TILEC_PTXAS cannot be run"
      ;;
   --ptxas)
      [[ -n $(tilec_find_ptxas) ]] || tilec_die "no ptxas in PATH, /usr/local/cuda/bin or Python wheels"
      ;;
   --no-asan) with_asan=0 ;;
   -v | --verbose) tilec_verbose=1 ;;
   -h | --help)
      sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
   *) tilec_die "unknown option $option; see --help" ;;
   esac
done

# A test may take 450 s on four idle cores, twice that on fewer, and up to three times that where they
# are slow or busy: what a fixed piece of work takes on all of them at once now says how much more.
# TILEC_TEST_SECONDS says it instead.
seconds_for_a_test() {
   local cores from=${EPOCHREALTIME/[.,]/} to work k
   cores=$(nproc)
   for ((k = 0; k < cores; k++)); do
      (for ((work = 0; work < 300000; work++)); do :; done) &
   done
   wait
   to=${EPOCHREALTIME/[.,]/}
   local factor=$(((to - from + 399999) / 400000)) # 0.3 to 0.4 s on an idle core
   factor=$((factor > 3 ? 3 : factor < 1 ? 1 : factor))
   printf '%d\n' $((450 * factor * (cores < 4 ? 2 : 1)))
}
limit=${TILEC_TEST_SECONDS:-$(seconds_for_a_test)}

# run_ctest PRESET [OPTIONS..]: remembers a failure, keeps the log, prints the tests that failed.
failed=()
run_ctest() {
   local preset=$1
   shift
   tilec_phase "testing $preset" into_log "$tilec_root/build/$preset" "$@" && return
   failed+=("$preset")
   [[ $tilec_verbose ]] || show_failed_tests "$tilec_root/build/$preset/ctest.log" || tilec_show_log 40
}

into_log() { # BUILD OPTIONS..
   local build=$1
   shift
   ctest --test-dir "$build" --output-on-failure -j "$(nproc)" --timeout "$limit" "$@" 2>&1 |
      tee "$build/ctest.log"
}

# Of each test that failed its output, 100 lines of it at most; fails when no test ran.
show_failed_tests() { # LOG
   awk '/^ *[0-9]+\/[0-9]+ Test +#/ { any = 1
                                     shown = /\*\*\*(Failed|Timeout|Exception|Not Run)/ ? 1 : 0 }
        /^ +Start +[0-9]+: / { shown = 0 }
        /tests passed, / { exit }
        shown && shown++ <= 100
        END { exit !any }' "$1"
}

# Whether clang 22 has its libFuzzer here, and so its sanitizers: they are of one package.
has_libfuzzer() {
   command -v clang-22 >/dev/null || return
   local library path
   library=libclang_rt.fuzzer-$(uname -m).a
   path=$(clang-22 "-print-file-name=$library") # with its folder, where it is found
   if [[ $path == "$library" ]]; then
      (tilec_install libclang-rt-22-dev) || true
      path=$(clang-22 "-print-file-name=$library")
   fi
   [[ $path != "$library" ]]
}

# Address and undefined-behaviour sanitizers.  The preset `fuzz` is all in one: of every target, for
# clang's warnings; under its sanitizers; with the programs that search.  Elsewhere the preset `asan`
# does by gcc what it can: without libFuzzer the corpora are replayed, and nothing is searched.
test_sanitized() {
   local targets=()
   [[ $sanitized == fuzz ]] || targets=(tilec_test_programs)
   tilec_build "$sanitized" "${targets[@]}"
   run_ctest "$sanitized" -R '^(unit|golden|fuzz)\.'
}

# Twenty seconds of tests/fuzz/run.sh on all cores; the seed is the commit's, so that each commit
# searches elsewhere.
# What a search meets depends on the machine's speed, so that one tree would pass here and fail
# there: a find is printed with its bytes and fails nothing before it is a file in tests/fuzz/finds,
# which ctest replays.
search_for_failures() {
   if [[ $sanitized != fuzz ]]; then
      tilec_say "no libFuzzer for clang 22: nothing is searched"
      return
   fi
   local status=0 commit
   commit=$(git -C "$tilec_root" rev-parse HEAD 2>/dev/null || echo 1)
   tilec_say "searching for inputs that break something, --seed $((16#${commit:0:7} + 1))"
   "$tilec_root/tests/fuzz/run.sh" --seconds 20 --jobs "$(nproc)" --seed $((16#${commit:0:7} + 1)) || status=$?
   if ((status == 1)); then
      print_finds
   elif ((status)); then
      failed+=(search)
   fi
}

# Two minutes: the build, then what tests of a few seconds reach.
count_lines() {
   tilec_build coverage tilec_quick_programs
   tilec_phase "counting lines and branches" count_into_report || failed+=(coverage)
}

count_into_report() {
   "$tilec_root/tests/coverage.sh" --quick | tee "$tilec_root/build/coverage/report.txt"
}

print_finds() {
   local find
   tilec_say "NOT YET A TEST: put these inputs into tests/fuzz/finds/TARGET (base64) and mend what they break"
   mkdir -p -- "$tilec_root/build/fuzz/finds"
   find "$tilec_root/build/fuzz/finds" -type f -size -8k | while IFS= read -r find; do
      printf '%s\n' "${find#"$tilec_root"/build/fuzz/}"
      base64 -- "$find"
   done
}

closing_lines() {
   sed -n '/tests passed/,$p' "$tilec_root/build/$1/ctest.log"
}

# Of all ctest runs: passed, skipped, failed.
counts() {
   cat -- "$@" | awk '/^ *[0-9]+\/[0-9]+ Test +#/ {
         if (/   Passed/) passed++; else if (/\*\*\*Skipped/) skipped++; else failed++ }
      END { printf "%d tests passed, %d skipped, %d failed\n", passed, skipped, failed }'
}

tilec_begin tests
tilec_install "${tilec_check_packages[@]}"
sanitized=asan
((with_asan)) && has_libfuzzer && sanitized=fuzz
tilec_build release
run_ctest release
if [[ $sanitized != fuzz ]] && command -v clang-22 >/dev/null; then
   tilec_build clang # the same warnings by another compiler; nothing is run
fi
if ((with_asan)); then
   export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1:allocator_may_return_null=1}
   export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
   test_sanitized
   export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1}
   tilec_build tsan jit_threads cache_stress unit_examples unit_runtime unit_runtime_jit fakecuda fakecuda_broken
   run_ctest tsan -R '^(threads\.jit|cache\.stress|unit\.examples|unit\.runtime|unit\.runtime_jit)$'
   count_lines
   search_for_failures
   tilec_say "lines, branches and functions of compiler/ and runtime/ that quick tests run"
   grep -E ' lines | functions|^fewer than |^run or gone' "$tilec_root/build/coverage/report.txt" || true
   tilec_say "address and undefined-behaviour sanitizers"
   closing_lines "$sanitized"
   tilec_say "thread sanitizer"
   closing_lines tsan
fi

if [[ -z $(tilec_find_ptxas) ]]; then
   tilec_say "no ptxas: $(find "$tilec_root/build/release/out" -name '*.ptx' | wc -l) PTX files were not assembled"
fi
tilec_say "release"
closing_lines release
logs=("$tilec_root/build/release/ctest.log")
((with_asan)) && logs+=("$tilec_root/build"/{"$sanitized",tsan}/ctest.log)
tilec_say "in all $(counts "${logs[@]}") in $(tilec_time $SECONDS); ${tilec_log#"$tilec_root"/}"
if ((${#failed[@]})); then
   tilec_say "failed: ${failed[*]}"
   exit 1
fi
