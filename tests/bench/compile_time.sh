#!/usr/bin/env bash
# compile_time.sh TILEC [--svg FILE | --check]: processor time (user and system) of the whole command,
# source to PTX, against elements a thread, for kernels of every kind: the least of some runs.  Prints a
# table; --svg draws it; --check fails where 4 times the elements take more than 5.3 times as long, which
# is 2.3 for each doubling (linear is 4; quadratic would be 16).
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
tilec=$1
mode=${2:-}
svg=${3:-}
examples=$here/../../dsl_examples
kernels=(elu vector_add softmax total casts plane matmul)
sizes=(1 2 4 8 16 32 64 128 256 512 1024)
[[ $mode != --check ]] || sizes=(64 256 1024)
runs=9
[[ $mode != --check ]] || runs=2
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

# Runs every size `runs` times, in turn; `times` keeps the least of each, in milliseconds.
measure() { # KERNEL
   local i k ms
   for ((i = 0; i < runs; i++)); do
      for k in "${!sizes[@]}"; do
         configure "$1" "${sizes[k]}"
         { time "$tilec" build "${options[@]}" -o "$out" >/dev/null; } 2>"$log"
         ms=$(awk '{printf "%.0f", ($1 + $2) * 1000}' "$log")
         ((${times[k]:-ms + 1} < ms)) || times[k]=$ms
      done
   done
}

# Whether each size but the first takes at most 5.3 times as long as the one before.
is_linear() {
   local k
   for ((k = 1; k < ${#sizes[@]}; k++)); do
      ((times[k] * 10 <= times[k - 1] * 53)) || return 1
   done
}

printf '| elements a thread |%s\n' "$(printf ' %s |' "${sizes[@]}")"
printf '|---|%s\n' "$(printf -- '---|%.0s' "${sizes[@]}")"
failed=0
rows=()
for kernel in "${kernels[@]}"; do
   times=()
   measure "$kernel"
   # A busy machine adds time, never takes any away: more runs bring the least nearer to what it is.
   for ((try = 0; try < 5; try++)); do
      [[ $mode == --check ]] && ! is_linear || break
      measure "$kernel"
   done
   rows+=("$kernel ${times[*]}")
   printf '| %s |%s\n' "$kernel" "$(printf ' %s |' "${times[@]}")"
   if [[ $mode == --check ]] && ! is_linear; then
      printf 'FAIL %s: %s ms for %s elements a thread\n' "$kernel" "${times[*]}" "${sizes[*]}"
      failed=1
   fi
done
if [[ $mode == --svg ]]; then
   printf '%s\n' "${rows[@]}" |
      awk -f "$here/compile_time.awk" -v sizes="${sizes[*]}" -v date="$(date +%F)" >"$svg"
fi
exit "$failed"
