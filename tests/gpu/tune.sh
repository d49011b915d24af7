#!/usr/bin/env bash
# The tuner against an exhaustive sweep, on the GPU: tests/gpu/tune.sh [BUILD]   (default build/release)
# For matmul and attention over several shapes the configuration that the tuner picks must be within
# LIMIT percent (default 3) of the best of all of them, measured in the same run.  77 without a GPU.
set -uo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
tilec=${1:-$root/build/release}/bin/tilec
limit=${LIMIT:-3}
[[ -x $tilec ]] || { printf 'no command at %s\n' "$tilec" >&2; exit 2; }
if ! "$tilec" doctor | grep -q '^gpu .*sm_'; then
   printf 'skipped: no GPU\n'
   exit 77
fi
database=$(mktemp -d)/tune.db
trap 'rm -rf -- "${database%/*}"' EXIT
failed=0

check() { # NAME FILE ARGUMENTS..
   local name=$1 text over
   shift
   text=$("$tilec" bench "$@" --on=cuda --sweep --force --database="$database") || {
      printf '%s: FAILED\n%s\n' "$name" "$text"
      failed=1
      return
   }
   over=$(sed -n "s/^\* the tuner's choice: \([0-9.]*\) % over the best$/\1/p" <<<"$text")
   printf '%-34s %s\n' "$name" "$(grep '^\* ' <<<"$text" | tr '\n' ' ')"
   if [[ -z $over ]] || ! awk -v a="$over" -v b="$limit" 'BEGIN { exit !(a <= b) }'; then
      printf '   FAILED: %s %% over the best, at most %s %% is allowed\n%s\n' "${over:-?}" "$limit" "$text"
      failed=1
   fi
}

matmul() { # M N K
   check "matmul fp16 $1 x $2 x $3" "$root/dsl_examples/tuned_matmul.tile" \
      --arg "a=randn:fp16[$1,$3]" --arg "b=randn:fp16[$3,$2]" --arg "c=zeros:fp16[$1,$2]" \
      --arg "M=$1" --arg "N=$2" --arg "K=$3" --arg "a_row=$3" --arg a_col=1 --arg "b_row=$2" --arg b_col=1 \
      --arg "c_row=$2" --arg c_col=1 --flops='2*M*N*K'
}

attention() { # HEADS N D CAUSAL
   check "attention fp16 $1 x $2 x $3 causal=$4" "$root/dsl_examples/tuned_attention.tile" \
      --arg "q=randn:fp16[$1,$2,$3]:1" --arg "k=randn:fp16[$1,$2,$3]:2" --arg "v=randn:fp16[$1,$2,$3]:3" \
      --arg "o=zeros:fp16[$1,$2,$3]" --arg "lse=zeros:fp32[$1,$2]" --arg "heads=$1" --arg "n=$2" \
      --arg scale=0.125 -D "D=$3" -D "CAUSAL=$4" --flops="4*heads*n*n*$3"
}

matmul 1024 1024 1024
matmul 4096 4096 4096
matmul 8192 1024 4096
attention 32 2048 64 False
attention 64 4096 64 True
attention 16 4096 128 False
((failed)) && exit 1
printf 'all choices within %s %% of the best\n' "$limit"
