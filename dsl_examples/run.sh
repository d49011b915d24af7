#!/usr/bin/env bash
# Installs what is missing, builds tilec, compiles fused attention and ELU from .tile source to PTX,
# runs them and the other examples, and compares each result with a double-precision oracle.
# On a machine without a GPU the kernels run on the CPU executor.
#   dsl_examples/run.sh [--verbose] [--on auto|cpu|cuda] [--seed N]
#   --verbose  print everything, each result among it; else that is in build/examples.log
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../tests/support/setup.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../tests/support/setup.sh"
options=()
for option in "$@"; do
   case $option in
   -v | --verbose) tilec_verbose=1 ;;
   -h | --help)
      sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
   *) options+=("$option") ;;
   esac
done

tilec_begin examples
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
   printf '%s -> %s (%s lines)\n' "$file" "${out#"$tilec_root"/}/$name.ptx" \
      "$(wc -l <"$out/$name.ptx")"
}

tilec_say "compiling to PTX"
attention=(-D D=64 -s '*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, i32, i32:16, fp32')
emit attn_fwd attention.tile "${attention[@]}"
emit attn_fwd_causal attention.tile "${attention[@]}" -D CAUSAL=True
emit attn_fwd_bp_causal attention_block_pointers.tile "${attention[@]}" -D CAUSAL=True
emit elu elu.tile

# The results that the log has from line $1 on.
summary() {
   tail -n +"$1" -- "$tilec_log" |
      awk '/ ok$/ { n++
                    for (i = 1; i < NF; i++) {
                       if ($i == "L2" && $(i + 1) + 0 > worst + 0) worst = $(i + 1)
                       if ($i == "on") on = $(i + 1)
                    } }
           END { printf "   %d results on %s within their bounds, largest relative error %s\n",
                        n, on, worst + 0 }'
}

results=0 count=0 failed=()
for example in "$build"/examples/*; do
   before=$(($(wc -l <"$tilec_log") + 1))
   status=0 count=$((count + 1))
   tilec_phase "running ${example##*/}" "$example" "${options[@]}" || status=$?
   if ((status == 0)); then
      summary "$before"
   elif ((status == 2)) && [[ ${options[*]} ]]; then
      [[ $tilec_verbose ]] || tilec_show_log 3
      exit 2 # an option that no example takes
   else
      failed+=("${example##*/}")
      [[ $tilec_verbose ]] || tilec_show_log 40
   fi
   results=$((results + $(tail -n +"$before" -- "$tilec_log" | grep -c ' ok$' || true)))
done
tilec_say "$results results of $count examples are right, ${#failed[@]} examples failed" \
   "${failed[*]:+(${failed[*]}) }in $(tilec_time $SECONDS); each result in ${tilec_log#"$tilec_root"/}"
((${#failed[@]} == 0)) || exit 1
tilec_say "by hand: build/release/bin/tilec run dsl_examples/elu.tile --arg x=randn:fp32[1000] \\
   --arg y=empty:fp32[1000] --arg n=1000 --save y=y.npy"
