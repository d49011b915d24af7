#!/usr/bin/env bash
# check_goldens.sh: each pass has at least 4 golden files of fewer than 30 lines, and each folder of
# golden files of passes is a pass.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$root/tests/golden/passes
passes=$(sed -n 's/^TL_PASS(\([a-z_]*\),.*/\1/p' "$root/compiler/passes/passes.def")
bad=0
for pass in $passes; do
   small=0
   for file in "$folder/$pass"/*; do
      [ -f "$file" ] && [ "$(wc -l <"$file")" -lt 30 ] && small=$((small + 1))
   done
   [ "$small" -ge 4 ] || { echo "$pass has $small golden files of fewer than 30 lines; 4 are the fewest"; bad=1; }
done
for name in $(ls "$folder"); do
   grep -qx "$name" <<<"$passes" || { echo "tests/golden/passes/$name is not a pass"; bad=1; }
done
[ "$bad" = 0 ] && echo "$(wc -w <<<"$passes") passes have 4 small golden files or more"
exit "$bad"
