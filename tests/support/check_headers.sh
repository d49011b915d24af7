#!/usr/bin/env bash
# check_headers.sh SOURCE_DIR: every public header, alone, twice, and in use, without a warning in
# every standard of C and C++ that the compilers here know.  A header defines no macro beyond TILEC_.
set -euo pipefail
root=$1
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
includes=(-I "$root/compiler/include" -I "$root/runtime/include")
strict=(-fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wundef -Wcast-align -Werror)
failed=0
runs=0

compile() { # COMPILER STANDARD FILE
   runs=$((runs + 1))
   local more=()
   [[ $3 == *.c ]] && more=(-Wstrict-prototypes -Wmissing-prototypes)
   "$1" "-std=$2" "${strict[@]}" "${more[@]}" "${includes[@]}" "$3" 2>"$work/said" && return
   echo "FAIL $1 -std=$2 $(basename "$3")"
   head -20 "$work/said"
   failed=1
}

headers=$(cd "$root" && ls compiler/include/tilec/*.h runtime/include/tilec/*.h | sed 's|.*/tilec/|tilec/|')
for header in $headers; do
   stem=$(basename "$header" .h)
   for ending in c cc; do
      printf '#include "%s"\n#include "%s"\n' "$header" "$header" >"$work/$stem.$ending"
      printf 'int one_%s(void);\nint one_%s(void) { return 1; }\n' "$stem" "$stem" >>"$work/$stem.$ending"
   done
   # what it adds to the macros of the standard headers
   printf '#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n' >"$work/none.c"
   cc -std=c11 -dM -E "$work/none.c" | sort >"$work/before"
   cc -std=c11 -dM -E "${includes[@]}" "$work/$stem.c" | sort >"$work/after"
   foreign=$(comm -13 "$work/before" "$work/after" | grep -v '^#define TILEC_' || true)
   if [[ $foreign ]]; then
      echo "FAIL $header defines: $foreign"
      failed=1
   fi
done

# One folder of the two that a source tree has: the first line says which there are.
runs=$((runs + 1))
if cc -fsyntax-only -I "$root/runtime/include" "$work/runtime.c" 2>"$work/said" ||
   ! grep -m1 'error' "$work/said" | grep -q -- '-Icompiler/include -Iruntime/include'; then
   echo "FAIL tilec/runtime.h with -Iruntime/include alone"
   head -20 "$work/said"
   failed=1
fi

cat >"$work/use.c" <<'CODE'
#include "tilec/runtime.h"
#include "tilec/tilec.h"

TilecStatus use(TilecKernel *k, TilecBuffer *b, TilecStream s, const float *x, int n);
TilecStatus
use(TilecKernel *k, TilecBuffer *b, TilecStream s, const float *x, int n)
{
   unsigned char byte = 1;
   long wide = n;
   TilecStatus status = TILEC_LAUNCH(k, s, TILEC_OWN_GRID, 1, 1, x, b, n, 0.5f, 1.0, byte, wide);
   status = status ? status : TILEC_LAUNCH(k, s, 1, 1, 1, n);
   status = status ? status
                   : TILEC_LAUNCH(k, s, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
                                  20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32);
   TilecArg list[3];
   list[0] = TILEC_ARG(x);
   list[1] = tilec_view(TILEC_FP16, b, 16);
   list[2] = tilec_none();
   return status == TILEC_OK ? tilec_kernel_prepare(k, list, 3) : status;
}
CODE
cp "$work/use.c" "$work/use.cc"

for pair in "gcc g++" "clang clang++"; do
   read -r c cxx <<<"$pair"
   for standard in c11 c17 c2x; do
      command -v "$c" >/dev/null && "$c" "-std=$standard" -fsyntax-only -x c /dev/null 2>/dev/null || continue
      for file in "$work"/*.c; do
         compile "$c" "$standard" "$file"
      done
   done
   for standard in c++11 c++14 c++17 c++20 c++23; do
      command -v "$cxx" >/dev/null && "$cxx" "-std=$standard" -fsyntax-only -x c++ /dev/null 2>/dev/null || continue
      for file in "$work"/*.cc; do
         compile "$cxx" "$standard" "$file"
      done
   done
done
[[ $runs -gt 30 ]] || { echo "FAIL only $runs compilations"; exit 1; }
[[ $failed == 0 ]] && echo "$runs compilations without a warning"
exit "$failed"
