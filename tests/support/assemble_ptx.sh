#!/usr/bin/env bash
# assemble_ptx.sh DIR...: runs ptxas over every .ptx file under the directories, for the arch that its
# .target names, and holds the example configurations (DIR/examples) to zero spilled bytes.
# Without a ptxas it says how many files were not assembled and exits 77.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=setup.sh
source "$here/setup.sh"
mapfile -d '' -t files < <(find "$@" -name '*.ptx' -print0 2>/dev/null | sort -z)
ptxas=$(tilec_find_ptxas)
if [[ -z $ptxas ]]; then
   printf 'no ptxas found: %d PTX files were not assembled\n' "${#files[@]}"
   exit 77
fi
known=$("$ptxas" --help | grep -oE "sm_[0-9]+[a-z]?" | sort -u)
good=0
bad=0
skipped=0
spilled=0
log=$(mktemp)
trap 'rm -f -- "$log"' EXIT
for file in "${files[@]}"; do
   arch=$(sed -n 's/^\.target \(sm_[0-9a-z]*\).*/\1/p' "$file" | head -n 1)
   if ! grep -qx "$arch" <<<"$known"; then
      skipped=$((skipped + 1))
      continue
   fi
   if ! "$ptxas" -v -arch="$arch" "$file" -o /dev/null >"$log" 2>&1; then
      if grep -q 'Unsupported .version' "$log"; then
         skipped=$((skipped + 1))
         continue
      fi
      printf 'FAIL %s\n' "$file"
      cat -- "$log"
      bad=$((bad + 1))
      continue
   fi
   good=$((good + 1))
   if [[ $file == */examples/* ]] && grep -E 'bytes spill' "$log" |
      grep -qvE '[^0-9]0 bytes spill stores, 0 bytes spill loads'; then
      printf 'FAIL %s spills registers:%s\n' "$file" "$(grep -m 1 -E 'bytes spill' "$log")"
      spilled=$((spilled + 1))
   fi
done
printf '%s: %d PTX files assembled, %d refused, %d with spills, %d for targets it does not know\n' \
   "$ptxas" "$good" "$bad" "$spilled" "$skipped"
((good > 0 && bad == 0 && spilled == 0))
