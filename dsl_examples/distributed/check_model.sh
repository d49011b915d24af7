#!/usr/bin/env bash
# check_model.sh RING PAIR: what 1 to 16 ranks hold and send, beside docs/distributed.md's model.
# Ring attention with as many tokens a rank: the same memory, the same bytes a hop.
set -euo pipefail
failed=0
heads=2 dim=16 mine=32 # tokens a rank

# numbers COMMAND...: "HELD SENT" of its line "a rank holds HELD bytes, sends SENT".
numbers() {
   "$@" | sed -n 's/^a rank holds \([0-9]*\) bytes, sends \([0-9]*\)$/\1 \2/p'
}

compare() { # WHAT GOT WANTED
   if [[ $2 == "$3" ]]; then
      printf '%s: %s\n' "$1" "$2"
   else
      printf 'FAIL %s: %s, the model says %s\n' "$1" "$2" "$3"
      failed=1
   fi
}

elems=$((mine * heads * dim))
for ranks in 1 2 4 8 16; do
   read -r held sent < <(numbers "$1" --threads $ranks --tokens $((ranks * mine)) --heads $heads \
      --dim $dim --backward --block-m 16 --block-n 16)
   # q, o, do and own k, v in 16 bits; lse, delta, dq, dk, dv in 32
   want=$((5 * elems * 2 + 3 * elems * 4 + 2 * mine * heads * 4))
   if ((ranks > 1)); then # two more k, v; o so far and of a step with its lse; dk, dv twice more
      want=$((want + 4 * elems * 2 + 2 * elems * 4 + mine * heads * 4 + 4 * elems * 4))
   fi
   compare "ring of $ranks holds" "$held" $want
   kv=$((2 * elems * 2)) dkv=$((2 * elems * 4)) # forward and backward; sums come home as well
   compare "ring of $ranks sends" "$sent" $((ranks > 1 ? 2 * (ranks - 1) * kv + ranks * dkv : 0))
done
for ranks in 1 2 4 8; do
   read -r _ sent < <(numbers "$2" --threads $ranks --tokens 64 --wide 64 --hidden 256 --chunks 2)
   compare "pair of $ranks sends" "$sent" $((64 * 64 * 4 * (ranks - 1) / ranks))
done
exit $failed
