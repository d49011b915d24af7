#!/usr/bin/env bash
# compile_time.sh TILEC [--svg FILE | --check]: processor time of the whole command, source to PTX, against
# elements a thread, for kernels of every kind.  Prints a table; --svg draws it; --check fails where
# 4 times the elements take more than 7 times as long (linear is 4; quadratic would be 16).
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
tilec=$1
mode=${2:-}
svg=${3:-}
examples=$here/../../dsl_examples
kernels=(elu vector_add softmax total casts plane matmul)
sizes=(1 2 4 8 16 32 64 128 256 512)
[[ $mode != --check ]] || sizes=(64 256)
runs=5
[[ $mode != --check ]] || runs=3
out=$(mktemp)
log=$(mktemp)
trap 'rm -f -- "$out" "$log"' EXIT
TIMEFORMAT='%3U %3S'

# The options that give a thread of 128 this many elements.
configure() { # KERNEL ELEMENTS
   local f32='*fp32:16' block=$(($2 * 128)) n
   case $1 in
   elu) options=("$examples/elu.tile" -s "$f32, $f32, i32:16" -D "BLOCK=$block") ;;
   vector_add) options=("$examples/vector_add.tile" -s "$f32, $f32, $f32, i32:16" -D "BLOCK=$block") ;;
   softmax) options=("$examples/softmax.tile" -s "$f32, $f32, i32, i32:16" -D "BLOCK=$block") ;;
   total | casts) options=("$here/compile_time.tile" -D "BLOCK=$block") ;;
   plane) options=("$here/compile_time.tile" -D "ROWS=$2") ;;
   matmul)
      n=$(($2 < 16 ? 16 : $2)) # columns of the accumulator; below 16 there is no such instruction
      options=("$examples/matmul.tile" -D BLOCK_M=128 -D "BLOCK_N=$n" -D BLOCK_K=32 --num-stages=2
         -s '*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1') ;;
   esac
   options+=(-k "$1" --num-warps=4)
}

# The least of some runs, in milliseconds.
measure() {
   local i
   for ((i = 0; i < runs; i++)); do
      { time "$tilec" build "${options[@]}" -o "$out" >/dev/null; } 2>>"$log"
   done
   awk '{ms = ($1 + $2) * 1000; if (NR == 1 || ms < least) least = ms} END {printf "%.0f", least}' "$log"
   : >"$log"
}

printf '| elements a thread |%s\n' "$(printf ' %s |' "${sizes[@]}")"
printf '|---|%s\n' "$(printf -- '---|%.0s' "${sizes[@]}")"
failed=0
rows=()
for kernel in "${kernels[@]}"; do
   times=()
   for size in "${sizes[@]}"; do
      configure "$kernel" "$size"
      times+=("$(measure)")
   done
   rows+=("$kernel ${times[*]}")
   printf '| %s |%s\n' "$kernel" "$(printf ' %s |' "${times[@]}")"
   if [[ $mode == --check ]] && ((times[1] > 7 * times[0])); then
      printf 'FAIL %s: %d ms for 64 elements a thread, %d ms for 256\n' "$kernel" "${times[@]}"
      failed=1
   fi
done
if [[ $mode == --svg ]]; then
   printf '%s\n' "${rows[@]}" | awk -f "$here/compile_time.awk" -v sizes="${sizes[*]}" >"$svg"
fi
exit "$failed"
