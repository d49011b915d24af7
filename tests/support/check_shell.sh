#!/usr/bin/env bash
# check_shell.sh TILEC: what `tilec completion` and `tilec manual` print is taken by bash, zsh, fish
# and man, those of them that are here, and completes; help fits into 80 columns.
set -euo pipefail
tilec=$1
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
failed=0
fail() {
   printf 'FAIL %s\n' "$*"
   failed=1
}
# expect WHAT WANTED FOUND: words, in any order
expect() {
   [[ $(tr ' ' '\n' <<<"$2" | sort) == $(tr ' ' '\n' <<<"$3" | sort) ]] ||
      fail "$1: wanted '$2', found '$3'"
}

"$tilec" completion bash >"$work/tilec.bash"
# complete WORD..: what bash offers for the last word
complete_bash() {
   bash --norc -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _tilec
      printf "%s\n" "${COMPREPLY[*]}"' "$work/tilec.bash" "$@"
}
expect commands "bench build" "$(complete_bash tilec b)"
expect words "cpu cuda" "$(complete_bash tilec run x.tile --on = c)"
expect words "auto cpu cuda sim" "$(complete_bash tilec run x.tile --on =)"
expect operands "stats" "$(complete_bash tilec cache st)"
expect warnings "unused unused-factor unused-parameter" "$(complete_bash tilec check x.tile -W unu)"
expect remarks "pipeline ptxas parameters" "$(complete_bash tilec build x.tile -R p)"
expect codes "E0510" "$(complete_bash tilec explain E051)"
expect targets "sm_90 sm_90a" "$(complete_bash tilec build x.tile --arch sm_9)"
expect options "--strict-fp --stats" "$(complete_bash tilec build x.tile --st)"
expect "options of another command" "" "$(complete_bash tilec build x.tile --gri)"
expect files "" "$(complete_bash tilec build '')"

"$tilec" completion zsh >"$work/_tilec"
if command -v zsh >/dev/null; then
   zsh -n "$work/_tilec" || fail "zsh refuses its completion"
else
   echo "skipped: no zsh"
fi
"$tilec" completion fish >"$work/tilec.fish"
if command -v fish >/dev/null; then
   fish --no-execute "$work/tilec.fish" || fail "fish refuses its completion"
   offered=$(HOME=$work fish -c 'source $argv[1]; complete -C "tilec run --on c"' \
      "$work/tilec.fish" | cut -f1 | tr '\n' ' ')
   expect "words, in fish" "cpu cuda" "${offered% }"
else
   echo "skipped: no fish"
fi
"$tilec" completion tcsh 2>"$work/said" && fail "tcsh is taken"
grep -q "bash, zsh and fish; found 'tcsh'" "$work/said" || fail "$(cat "$work/said")"

"$tilec" manual >"$work/tilec.1"
if command -v man >/dev/null; then
   LC_ALL=C.UTF-8 MANROFFSEQ='' man --warnings -E UTF-8 -l "$work/tilec.1" >"$work/page" \
      2>"$work/said"
   [[ ! -s $work/said ]] || fail "man: $(cat "$work/said")"
   grep -q -- '--num-warps=N' "$work/page" || fail "no option in the manual page"
else
   echo "skipped: no man"
fi

"$tilec" --help >"$work/help"
commands=$(sed -n 's/^  \([a-z]\{1,\}\) .*/\1/p' "$work/help")
for command in $commands; do
   "$tilec" help "$command" >>"$work/help"
done
wide=$(grep -E '.{81}' "$work/help" || true)
[[ -z $wide ]] || fail "wider than 80 columns: $wide"
exit "$failed"
