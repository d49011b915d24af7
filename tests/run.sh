#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test that needs no GPU.
#   tests/run.sh [--ptxas[=PATH]] [--no-asan]
#   --ptxas    fail when no ptxas is found (without it: PTX is assembled if one is found)
#   --no-asan  leave out the builds with sanitizers
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
   -h | --help)
      sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
   *) tilec_die "unknown option $option; see --help" ;;
   esac
done

# run_ctest PRESET [OPTIONS..]: remembers a failure, keeps the log.
failed=()
run_ctest() {
   local preset=$1
   shift
   tilec_say "testing $preset"
   ctest --test-dir "$tilec_root/build/$preset" --output-on-failure -j "$(nproc)" --timeout 600 "$@" \
      2>&1 | tee "$tilec_root/build/$preset/ctest.log" || failed+=("$preset")
}

# Two minutes of tests/fuzz/run.sh, where clang's libFuzzer can be had.  Elsewhere the corpora have
# been replayed by ctest, and nothing is searched.  What a search meets depends on the machine's
# speed, so that one tree would pass here and fail there: a find is printed with its bytes and fails
# nothing before it is a file in tests/fuzz/finds, which ctest replays.
search_for_failures() {
   local library=/usr/lib/llvm-22/lib/clang/22/lib/linux/libclang_rt.fuzzer-x86_64.a
   [[ -e $library ]] || (tilec_install libclang-rt-22-dev) || true
   if [[ ! -e $library ]]; then
      tilec_say "no libFuzzer for clang 22: nothing is searched"
      return
   fi
   tilec_say "searching for inputs that break something"
   "$tilec_root/tests/fuzz/run.sh" --minutes 2 --jobs "$(nproc)" --seed 1 || print_finds
}

print_finds() {
   local find
   tilec_say "NOT YET A TEST: put these inputs into tests/fuzz/finds/TARGET (base64) and mend what they break"
   find "$tilec_root/build/fuzz/finds" -type f -size -8k | while IFS= read -r find; do
      printf '%s\n' "${find#"$tilec_root"/build/fuzz/}"
      base64 -- "$find"
   done
}

closing_lines() {
   sed -n '/tests passed/,$p' "$tilec_root/build/$1/ctest.log"
}

tilec_install "${tilec_check_packages[@]}"
tilec_build release
run_ctest release
if command -v clang-22 >/dev/null; then
   tilec_build clang # the same warnings by another compiler; nothing is run
fi
if ((with_asan)); then
   export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1}
   export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
   tilec_build asan tilec_test_programs
   run_ctest asan -R '^(unit|golden|fuzz)\.'
   export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1}
   tilec_build tsan jit_threads cache_stress unit_examples unit_runtime unit_runtime_jit fakecuda fakecuda_broken
   run_ctest tsan -R '^(threads\.jit|cache\.stress|unit\.examples|unit\.runtime|unit\.runtime_jit)$'
   search_for_failures
   tilec_say "address and undefined-behaviour sanitizers"
   closing_lines asan
   tilec_say "thread sanitizer"
   closing_lines tsan
fi

if [[ -z $(tilec_find_ptxas) ]]; then
   tilec_say "no ptxas: $(find "$tilec_root/build/release/out" -name '*.ptx' | wc -l) PTX files were not assembled"
fi
tilec_say "release"
closing_lines release
if ((${#failed[@]})); then
   tilec_say "failed: ${failed[*]}"
   exit 1
fi
