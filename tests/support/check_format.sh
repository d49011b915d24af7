#!/usr/bin/env bash
# check_format.sh [--fix]: the C of the tree is what clang-format 22 makes of it (.clang-format).
# Fails with one line that says how to mend; --fix mends.  Exit 77 (skipped) without clang-format 22.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."

formatter=$(command -v clang-format-22 || command -v /usr/lib/llvm-22/bin/clang-format || true)
if [[ -z $formatter ]]; then
   printf 'no clang-format-22: the format was not checked\n'
   exit 77
fi
mapfile -t files < <(find compiler runtime dsl_examples tests -type f \( -name '*.[ch]' -o -name '*.cc' \) |
   LC_ALL=C sort)
if [[ ${1:-} == --fix ]]; then
   "$formatter" -i "${files[@]}"
   exit 0
fi
bad=()
for file in "${files[@]}"; do
   "$formatter" "$file" | cmp -s - "$file" || bad+=("$file")
done
if ((${#bad[@]})); then
   printf 'not formatted:'
   printf ' %s' "${bad[@]}"
   printf '\nmend with: tests/support/check_format.sh --fix\n'
   exit 1
fi
printf '%d files are formatted\n' "${#files[@]}"
