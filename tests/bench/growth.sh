#!/usr/bin/env bash
# growth.sh TILEC: processor time (user and system) against the length of sources that are long in one
# way only: the least of some runs.  Prints a table; fails where 4 times the length takes more than 8
# times as long (linear is 4, quadratic 16).
set -euo pipefail
tilec=$1
dir=$(mktemp -d)
trap 'rm -rf -- "$dir"' EXIT
TIMEFORMAT='%3U %3S'

# One statement after the other, each with its own branch.
ifs() {
   printf '@kernel\ndef k(p: *i32, n: i32):\n    x = 0\n'
   awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "    if n > %d:\n        x += n\n", i }'
   printf '    store(p, x)\n'
}

# Kernels that use a function each, and the functions.
kernels() {
   awk -v n="$1" 'BEGIN {
      for (i = 0; i < n; i++)
         printf "def f%d(x):\n    return x\n@kernel\ndef k%d(p: *i32):\n    store(p, f%d(1))\n", i, i, i
   }'
}

# Statements of one block that nothing ends.
lines() {
   printf '@kernel\ndef k(p: *i32):\n    x = 0\n'
   awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) print "    x = x + 1" }'
   printf '    store(p, x)\n'
}

# What is done with a source of each kind, and its smaller size.
cases=('ifs 200 build' 'kernels 1000 list' 'kernels 250 check' 'lines 5000 check')

measure() { # KIND SIZE COMMAND: into ms
   "$1" "$2" >"$dir/$1.tile"
   { time timeout 120 "$tilec" "$3" "$dir/$1.tile" >"$dir/out"; } 2>"$dir/log"
   ms=$(awk '{printf "%.0f", ($1 + $2) * 1000}' "$dir/log")
}

failed=0
printf '| source | size: ms | 4 times the size: ms |\n|---|---|---|\n'
for c in "${cases[@]}"; do
   read -r kind size command <<<"$c"
   small= large=
   # A busy machine adds time, never takes any away: the least of more runs is nearer to what it is.
   for ((try = 0; try < 8; try++)); do
      measure "$kind" "$size" "$command"
      ((${small:-ms + 1} < ms)) || small=$ms
      measure "$kind" $((size * 4)) "$command"
      ((${large:-ms + 1} < ms)) || large=$ms
      ((large > small * 8)) || break
   done
   printf '| %s | %s: %s | %s: %s |\n' "$kind" "$size" "$small" $((size * 4)) "$large"
   ((large <= small * 8)) || failed=1
done
exit "$failed"
