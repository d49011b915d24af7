#!/usr/bin/env bash
# check_snippets.sh TILEC CC LIBTILEC: compiles every fenced block of code in README.md and docs/.
#    ```python   a .tile file: `tilec check`, with the options of a comment on the line before the
#                fence, as in  <!-- check: -s "*fp32" -D BLOCK=64 -->; or `<!-- fails: ... -->`: it must
#                be refused.  Host Python (a block that imports tilec) is compiled by python3, if any,
#                and after a line `<!-- runs -->` run in the root, if it finds its imports.
#    ```c        a translation unit: compiled with the public headers, those of dsl_examples, and elu.h
#                of --emit=c; after a line `<!-- runs -->` a program: linked with LIBTILEC, run in the
#                root, and it must end with 0
# It also runs the two commands that README.md promises through a syntax check, and looks for links
# to files that do not exist.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
tilec=$1
cc=$2
library=$3
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
checked=0
failed=0
ran=0

fail() {
   printf 'FAIL %s\n' "$1"
   sed 's/^/   /' "$work/log"
   failed=$((failed + 1))
}

# A sanitizer's runtime cannot be loaded into python.
is_sanitized() { # LIBRARY
   nm -D -- "$1" | grep -qE ' U __(asan|tsan)_init'
}

check_block() { # LANGUAGE WHERE MODE OPTIONS
   local language=$1 where=$2 mode=$3 options=$4 words=()
   checked=$((checked + 1))
   if [[ $language == c && $mode == runs ]]; then
      cp -- "$work/block" "$work/block.c"
      { "$cc" -std=gnu17 -Wall -Wextra -I"$root/compiler/include" -I"$root/runtime/include" \
           "$work/block.c" -o "$work/program" "$library" -Wl,-rpath,"$(dirname -- "$library")" &&
           (cd -- "$root" && timeout 60 "$work/program"); } >"$work/log" 2>&1 || fail "$where"
      ran=$((ran + 1))
   elif [[ $language == c ]]; then
      cp -- "$work/block" "$work/block.c"
      "$cc" -std=gnu17 -Wall -Wextra -fsyntax-only -I"$root/compiler/include" \
         -I"$root/runtime/include" -I"$root/dsl_examples" -I"$work" "$work/block.c" >"$work/log" 2>&1 || fail "$where"
   elif grep -q '^import tilec' "$work/block"; then
      if command -v python3 >/dev/null && [[ $mode == runs ]] && ! is_sanitized "$library" &&
         { ! grep -q '^import numpy' "$work/block" || python3 -c 'import numpy' 2>/dev/null; }; then
         (cd -- "$root" && TILEC_LIBRARY=$library PYTHONDONTWRITEBYTECODE=1 \
            PYTHONPATH="$root/runtime/python" timeout 60 python3 "$work/block") \
            >"$work/log" 2>&1 || fail "$where"
         ran=$((ran + 1))
      elif command -v python3 >/dev/null; then
         python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$work/block" \
            >"$work/log" 2>&1 || fail "$where"
      fi
   else
      cp -- "$work/block" "$work/block.tile"
      eval "words=($options)"
      local status=0
      "$tilec" check "$work/block.tile" "${words[@]}" >"$work/log" 2>&1 || status=$?
      if [[ $mode == fails ]]; then
         ((status == 1)) || fail "$where (it should have errors)"
      elif ((status != 0)); then
         fail "$where"
      fi
   fi
}

check_file() {
   local file=$1 line number=0 language='' mode=check options='' start=0
   while IFS= read -r line || [[ -n $line ]]; do
      number=$((number + 1))
      if [[ -n $language ]]; then
         if [[ $line == '```' ]]; then
            [[ $language == skip ]] || check_block "$language" "${file#"$root"/}:$start" "$mode" "$options"
            language=''
            mode=check
            options=''
         else
            printf '%s\n' "$line" >>"$work/block"
         fi
      elif [[ $line == '<!-- runs -->' ]]; then
         mode=runs
      elif [[ $line =~ ^\<!--\ (check|fails):\ ?(.*)--\>$ ]]; then
         mode=${BASH_REMATCH[1]}
         options=${BASH_REMATCH[2]}
      elif [[ $line == '```'* ]]; then
         language=${line#'```'}
         [[ $language == python || $language == c ]] || language=skip
         start=$number
         : >"$work/block"
      fi
   done <"$file"
}

check_links() {
   local file=$1 target
   while IFS= read -r target; do
      [[ $target == http* || $target == '#'* || -e $(dirname -- "$file")/${target%%#*} ]] && continue
      printf 'no such file: %s\n' "$target" >"$work/log"
      fail "${file#"$root"/}"
   done < <(awk '/^```/ { code = !code } !code' "$file" | grep -oE '\]\([^)]+\)' | sed 's/^](//; s/)$//')
}

# How README.md compiles its program in the tree, of this build.
check_compiling() {
   local command folder
   folder=$(dirname -- "$library")
   command=$(grep -m1 '^cc program\.c ' "$root/README.md") || { echo "no line 'cc program.c ..'" >"$work/log"; fail README.md; return; }
   awk '/^<!-- runs -->$/ { wanted = 1 } /^```$/ { code = 0 } code { print } wanted && /^```c$/ { code = 1; wanted = 0 }' \
      "$root/README.md" >"$work/program.c"
   command=${command//build\/release\/runtime/"$folder"}
   ran=$((ran + 1))
   { (cd -- "$root" && eval "${command/cc program.c/"$cc" -o "$work/program" "$work/program.c"}" &&
      timeout 60 "$work/program"); } >"$work/log" 2>&1 || fail "README.md: $command"
}

"$tilec" build "$root/dsl_examples/elu.tile" --emit=c --ptxas=none -o "$work/elu.c"
while IFS= read -r -d '' file; do
   check_file "$file"
   check_links "$file"
done < <(find "$root/README.md" "$root/docs" -name '*.md' -print0 | sort -z)
check_compiling
for command in dsl_examples/run.sh tests/run.sh; do
   grep -qx "$command" "$root/README.md" || { echo "README.md does not name $command" >"$work/log"; fail README.md; }
   bash -n "$root/$command" 2>"$work/log" || fail "$command"
done
printf '%d blocks of code checked, %d of them run, %d failures\n' "$checked" "$ran" "$failed"
((checked > 0 && ran > 0 && failed == 0))
