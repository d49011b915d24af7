#!/usr/bin/env bash
# check_format.sh [--fix]: no line of C, tables and grammars included, is longer than 100 characters,
# and the C is what clang-format 22 makes of it (.clang-format).
# Fails with one line that says how to mend; --fix formats first, long comments are left to you.
# Exit 77 (skipped) without clang-format 22.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."

files_named() { # PATTERN ...: the files of the tree with such names, sorted
   local names=(-name "$1") pattern
   for pattern in "${@:2}"; do names+=(-o -name "$pattern"); done
   find compiler runtime dsl_examples tests -type f \( "${names[@]}" \) | LC_ALL=C sort
}

formatter=$(command -v clang-format-22 || command -v /usr/lib/llvm-22/bin/clang-format || true)
mapfile -t formatted < <(files_named '*.[ch]' '*.cc')
if [[ ${1:-} == --fix && -n $formatter ]]; then
   "$formatter" -i "${formatted[@]}"
fi

mapfile -t measured < <(files_named '*.[ch]' '*.cc' '*.def' '*.y' '*.re')
if long=$(LC_ALL=C.UTF-8 grep -nE '^.{101,}' "${measured[@]}" | cut -d: -f1,2); then
   printf 'longer than 100 characters, to be broken by hand: %s\n' "${long//$'\n'/ }"
   exit 1
fi

if [[ -z $formatter ]]; then
   printf 'no clang-format-22: the format was not checked\n'
   exit 77
fi
mapfile -t bad < <("$formatter" --dry-run "${formatted[@]}" 2>&1 | grep -oE '^[^: ]+:' | tr -d : | LC_ALL=C sort -u)
if ((${#bad[@]})); then
   printf 'not formatted: %s\nmend with: tests/support/check_format.sh --fix\n' "${bad[*]}"
   exit 1
fi
printf '%d files are formatted, %d have no line over 100 characters\n' "${#formatted[@]}" \
   "${#measured[@]}"
