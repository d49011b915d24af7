#!/usr/bin/env bash
# check_options.sh COMPILER SOURCE_DIR: an option of the compiler that is left out of a key, or of what
# the JIT copies, does not compile.  Each case spoils a copy of the headers and the table by one sed
# script, and names what the compiler must say of it.
set -euo pipefail
cc=$1
root=$2
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
failed=0

compiles() { # of the copy in $work/tree
   "$cc" -std=gnu17 -fsyntax-only -Wall -Wextra -Wconversion -Werror \
      -I "$work/tree/runtime" -I "$work/tree/runtime/include" -I "$work/tree/compiler/include" \
      "$work/tree/runtime/jit/options.c" >"$work/said" 2>&1
}

fresh() {
   rm -rf -- "$work/tree"
   mkdir -p "$work/tree/compiler" "$work/tree/runtime"
   cp -r "$root/compiler/include" "$work/tree/compiler/"
   cp -r "$root/runtime/include" "$root/runtime/jit" "$root/runtime/core" "$work/tree/runtime/"
}

spoil() { # WHAT FILE SED_SCRIPT MESSAGE
   fresh
   sed -i -E "$3" "$work/tree/$2"
   if cmp -s "$root/$2" "$work/tree/$2"; then
      echo "FAIL $1: the case changes nothing in $2"
      failed=1
   elif compiles; then
      echo "FAIL $1: it compiles"
      failed=1
   elif ! grep -qE "$4" "$work/said"; then
      echo "FAIL $1: expected '$4' in"
      head -5 "$work/said"
      failed=1
   fi
}

options=compiler/include/tilec/tilec.h
source=runtime/include/tilec/runtime.h
table=compiler/include/tilec/compile_options.def
fresh
compiles || { echo "FAIL as it is:"; head -5 "$work/said"; exit 1; }

spoil "a field without a row" $options 's/^\} TilecCompileOptions;/   bool fast;\n&/' 'missing .*initializer'
spoil "a field without a row, in padding" $options \
   '/^typedef struct TilecCompileOptions/,/^\}/s/^   uint32_t timeout_ms;/   bool fast;\n&/' 'missing .*initializer'
spoil "a field of TilecSource without a row" $source 's/^\} TilecSource;/   bool fast;\n&/' 'missing .*initializer'
spoil "a row without its field" $options '/^   TilecFpMode fp_mode;/d' "no member named '?.?fp_mode|fp_mode"
spoil "a row that is gone" $table '/^TILEC_FIELD \(grid,/d' 'missing .*initializer'
spoil "a row without the column of the keys" $table '/^TILEC_OPTION\(fp_mode,/s/CODE, *//' 'KEY_SOURCE'
spoil "a row with a word that no key knows" $table '/^TILEC_OPTION\(fp_mode,/s/CODE/MAYBE/' 'KEY_MAYBE'
spoil "a row that says not what the JIT does" $table '/^TILEC_OPTION\(fp_mode,/s/SOURCE/SOMEHOW/' '_SOMEHOW'
spoil "an option that TilecSource is said to have" $table '/^TILEC_OPTION\(plain_abi,/s/OWN/SOURCE/' 'plain_abi'
spoil "code that depends on what the tuner cannot see" $table '/^TILEC_FIELD \(ptx_version,/s/IMAGE/CODE/' 'ptx_version'
[[ $failed == 0 ]] && echo "an option left out does not compile: 10 cases"
exit "$failed"
