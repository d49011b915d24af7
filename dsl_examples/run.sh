#!/usr/bin/env bash
# Installs what is missing, builds tilec, compiles fused attention and ELU from .tile source to PTX,
# runs them and the other examples, and prints each one's error against a double-precision oracle.
# On a machine without a GPU the kernels run on the CPU executor.
#   dsl_examples/run.sh [--on auto|cpu|cuda] [--seed N]
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../tests/support/setup.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../tests/support/setup.sh"
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
   sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
   exit 0
fi

tilec_install
tilec_build release tilec tilec_examples
build="$tilec_root/build/release"
tilec="$build/bin/tilec"
out="$build/out"
mkdir -p -- "$out"

emit() { # NAME FILE OPTIONS..
   local name=$1 file=$2
   shift 2
   "$tilec" build "$tilec_root/dsl_examples/$file" "$@" -o "$out/$name.ptx"
   printf '%s -> %s (%s lines)\n' "$file" "$out/$name.ptx" "$(wc -l <"$out/$name.ptx")"
}

tilec_say "compiling to PTX"
attention=(attention.tile -D D=64
           -s '*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, i32, i32:16, fp32')
emit attn_fwd "${attention[@]}" -k attn_fwd
emit attn_fwd_causal "${attention[@]}" -k attn_fwd -D CAUSAL=True
emit attn_fwd_bp_causal "${attention[@]}" -k attn_fwd_bp -D CAUSAL=True
emit elu elu.tile

tilec_say "running"
for example in "$build"/examples/*; do
   "$example" "$@"
done
tilec_say "done; by hand: build/release/bin/tilec run dsl_examples/elu.tile --arg x=randn:fp32[1000] \\
   --arg y=empty:fp32[1000] --arg n=1000 --save y=y.npy"
