#!/usr/bin/env bash
# check_files.sh SOURCE_DIR: two tables of docs/architecture.md against the tree.
# "What touches which files": each row has an example and files; the example's name, as part of an
# identifier or of a file's name, must occur in exactly these files of compiler/, runtime/ and stdlib/
# (names.py and triton_names.def aside, what Triton 3.6 has, and other_names.def, what is written for
# names of other libraries: nothing that is added changes them).
# "Folders": what a folder of compiler/ may include is the DEPS of its row in compiler/CMakeLists.txt.
set -euo pipefail
cd -- "$1"
rows=0
failed=0

named_in() { # NAME: files that hold it, or are called so
   grep -rliE --exclude-dir=__pycache__ --exclude=names.py --exclude=triton_names.def --exclude=other_names.def \
      "(^|[^A-Za-z0-9])$1([^A-Za-z0-9]|\$)" compiler runtime stdlib ||
      true
   find compiler runtime stdlib -type f -name "$1.*"
}

while IFS='|' read -r _ what example files _; do
   name=$(sed -n 's/^ *`\([A-Za-z0-9_]*\)` *$/\1/p' <<<"$example")
   [[ $name ]] || continue
   rows=$((rows + 1))
   listed=$(grep -oE '`[^`]*/[^`]*`' <<<"$files" | tr -d '`' | LC_ALL=C sort -u)
   found=$(named_in "$name" | LC_ALL=C sort -u)
   if [[ $listed != "$found" ]]; then
      failed=1
      printf 'FAIL row "%s", example %s\n' "$(sed 's/^ *//; s/ *$//' <<<"$what")" "$name"
      comm -23 <(printf '%s\n' "$listed") <(printf '%s\n' "$found") | sed 's/^/   listed, without the name: /'
      comm -13 <(printf '%s\n' "$listed") <(printf '%s\n' "$found") | sed 's/^/   has the name, not listed: /'
   fi
done < <(sed -n '/^## What touches which files$/,/^## /p' docs/architecture.md)

folders=0
while read -r folder deps; do
   folders=$((folders + 1))
   row=$(grep -F "| \`compiler/$folder\` |" docs/architecture.md || true)
   said=$(cut -d'|' -f4 <<<"$row" | sed 's/–//; s#exec/sim#sim#' | grep -oE '[a-z]+' | LC_ALL=C sort | tr '\n' ' ' || true)
   built=$(tr ' ' '\n' <<<"$deps" | grep . | LC_ALL=C sort | tr '\n' ' ' || true)
   if [[ ! $row || $said != "$built" ]]; then
      failed=1
      printf 'FAIL compiler/%s may include: %s; the build says: %s\n' "$folder" "$said" "$built"
   fi
done < <(sed -nE 's/^tl_library\(([a-z\/]+)( FOLDERS [a-z ]+)?( DEPS ([a-z ]+))?\)$/\1 \4/p' compiler/CMakeLists.txt)
printf '%d examples, %d folders\n' "$rows" "$folders"
((rows >= 7 && folders >= 10 && failed == 0))
