#!/usr/bin/env bash
# Searches for inputs that break something, with libFuzzer, under the address and
# undefined-behaviour sanitizers, one target after the other.
#   tests/fuzz/run.sh [--minutes N | --seconds N] [--jobs N] [--seed N] [TARGET..]
#   --minutes  for all targets together; 10 when not given
#   --jobs     targets that run at the same time; 1 when not given
#   --seed     of the random numbers; another one each time when not given
# What it learned stays in build/fuzz/corpus and is used by the next run; what it found, in
# build/fuzz/finds.  A find becomes a fix and a file in tests/fuzz/finds/TARGET, which ctest replays.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../support/setup.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/setup.sh"

# What each target takes of the time, in parts; those that compile are slow.
declare -A share=([source]=6 [ir]=4 [options]=2 [parse]=2 [args]=1 [npy]=1 [metadata]=1 [cache]=1
                  [tune]=1)

total=600 jobs=1 seed=0 targets=()
while (($#)); do
   case $1 in
   --minutes) total=$((60 * $2)) && shift ;;
   --seconds) total=$2 && shift ;;
   --jobs) jobs=$2 && shift ;;
   --seed) seed=$2 && shift ;;
   -h | --help)
      sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
   -*) tilec_die "unknown option $1; see --help" ;;
   *) targets+=("$1") ;;
   esac
   shift
done
if ((${#targets[@]} == 0)); then
   for file in "$tilec_root"/tests/fuzz/fuzz_*.c; do
      target=${file##*/fuzz_}
      targets+=("${target%.c}")
   done
fi

tilec_begin fuzz
tilec_build fuzz "${targets[@]/#/fuzz_}" || tilec_die "the fuzz targets do not build"
build=$tilec_root/build/fuzz
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1

# seeds TARGET: files of the tree that it may begin from.
seeds() {
   local golden=$tilec_root/tests/golden
   case $1 in
   source) find "$golden/run" "$golden/errors" "$golden/passes" "$tilec_root/dsl_examples" \
      \( -name '*.tile' -o -name '*.py' \) -size -8k ;;
   ir) find "$golden" -name '*.tir' -size -8k ;;
   esac
}

# search TARGET SECONDS: writes TARGET.log and a line to TARGET.row.
search() {
   local target=$1 seconds=$2 start=$SECONDS
   local work=$build/corpus/$target finds=$build/finds/$target log=$build/$target.log code=0
   mkdir -p -- "$work" "$finds" "$build/seeds/$target"
   seeds "$target" | while IFS= read -r file; do
      ln -sf -- "$file" "$build/seeds/$target/$(tr / _ <<<"${file#"$tilec_root"/}")"
   done
   local options=(-max_total_time="$seconds" -timeout=60 -seed="$seed" -rss_limit_mb=3072 -max_len=8192
                  -print_final_stats=1 -verbosity=0 -artifact_prefix="$finds/")
   [[ $target != parse ]] || options+=(-dict="$tilec_root/tests/fuzz/tile.dict" -max_len=4096)
   "$build/bin/fuzz_$target" "${options[@]}" "$work" "$tilec_root/tests/fuzz/corpus/$target" \
      "$build/seeds/$target" >"$log" 2>&1 || code=$?
   local runs said="nothing found"
   runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
   ((code == 0)) || said=$(grep -m1 -E 'SUMMARY|Assertion|internal error' "$log")
   echo "$target" >>"$build/ended"
   tilec_clear_line
   printf '%-10s %12s runs %6d s  %s\n' "$target" "${runs:-?}" $((SECONDS - start)) "$said"
   return "$code"
}

parts=0 code=0
for target in "${targets[@]}"; do
   parts=$((parts + ${share[$target]:-1}))
done
# Of the search, which writes a log for each target: those that have ended, and what there is.
tilec_reached() {
   printf '%s of %s targets, %s finds' "$(wc -l <"$build/ended")" "${#targets[@]}" \
      "$(find "$build/finds" -type f | wc -l)"
}
mkdir -p -- "$build/finds"
: >"$build/ended"
tilec_show_progress "searching for $(tilec_time "$total")" &
ticker=$!
trap 'kill "$ticker" 2>/dev/null; tilec_clear_line' EXIT
running=0
for target in "${targets[@]}"; do
   if ((running >= jobs)); then
      wait -n || code=1
      running=$((running - 1))
   fi
   seconds=$((total * jobs * ${share[$target]:-1} / parts))
   search "$target" $((seconds ? seconds : 1)) & # 0 would be no limit
   running=$((running + 1))
done
while ((running--)); do
   wait -n || code=1
done
((code == 0)) || tilec_say "found: $(find "$build/finds" -type f | wc -l) inputs in build/fuzz/finds"
exit "$code"
