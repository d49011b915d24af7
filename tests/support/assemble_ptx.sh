#!/usr/bin/env bash
# assemble_ptx.sh DIR...: runs ptxas over every .ptx file under the directories, for the arch that its
# .target names, holds the example configurations (DIR/examples) to zero spilled bytes, and all of them
# to products by wgmma that run side by side (ptxas says C75xx when it does one after the other).
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
serial=0
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
   if grep -qE '\(C75[0-9]{2}\)' "$log"; then
      printf 'FAIL %s: %s\n' "$file" "$(grep -m 1 -E '\(C75[0-9]{2}\)' "$log")"
      serial=$((serial + 1))
   fi
   if [[ $file == */examples/* ]] && grep -E 'bytes spill' "$log" |
      grep -qvE '[^0-9]0 bytes spill stores, 0 bytes spill loads'; then
      printf 'FAIL %s spills registers:%s\n' "$file" "$(grep -m 1 -E 'bytes spill' "$log")"
      spilled=$((spilled + 1))
   fi
done
printf '%s: %d PTX files assembled, %d refused, %d with spills, %d with serialised wgmma, %d for targets it does not know\n' \
   "$ptxas" "$good" "$bad" "$spilled" "$serial" "$skipped"
((good > 0 && bad == 0 && spilled == 0 && serial == 0))
