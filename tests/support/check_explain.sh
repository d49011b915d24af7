#!/usr/bin/env bash
# check_explain.sh TILEC SOURCE_DIR [FAMILY...]: every diagnostic of the tables (or those whose code
# begins with a FAMILY, as in E03) has a page base/explain/CODE.md, and its examples do what it says.
# A page is a paragraph and then fenced blocks:
#    python, text   the wrong example, saved under the name its commands use: example.tile, .py, .tir
#    console        commands, each after "$ ", and what they print.  They print exactly this, and
#                   report CODE: an error or a warning alone, a remark or a note beside others
#    python, text   the right example: the same commands end with 0 and do not report CODE
#    console        if there is one: other commands for the right example
# Without commands it names the unit test that provokes the code.
# TILEC_BLESS=1 writes into the pages what their commands print.
set -u
tilec=$1
source=$2
shift 2
support=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
mkdir "$work/text" "$work/json"
ln -s -- "$tilec" "$work/text/tilec"
printf '#!/bin/sh\nexec "%s" "$@" --error-format=json\n' "$tilec" >"$work/json/tilec"
chmod +x "$work/json/tilec"
export XDG_CACHE_HOME=$work/cache
failed=0
count=0

fail() { # CODE TEXT [FILE]
   printf '%s: %s\n' "$1" "$2"
   [[ $# -lt 3 ]] || sed 's/^/   /' "$3"
   failed=$((failed + 1))
}

split() { # PAGE: its blocks as $work/page/1.python, 2.console, ...
   rm -rf -- "$work/page"
   mkdir "$work/page"
   awk -v dir="$work/page" '
      /^```/ { if (file) { close(file); file = "" } else file = dir "/" ++n "." substr($0, 4); next }
      file { print >file }' "$1"
}

play() { # CONSOLE FLAVOUR [EXAMPLE]: prints commands and output; ends as the last command does
   local line status=0 folder=$work/play
   rm -rf -- "$folder"
   mkdir "$folder"
   [[ $# -lt 3 ]] || cp -- "$3" "$folder/$(grep -o 'example\.[a-z]*' "$1" | head -n 1)"
   while IFS= read -r line; do
      printf '%s\n' "$line"
      (cd -- "$folder" && PATH="$work/$2:$support/fakeptxas:$PATH" sh -c "${line#\$ }" 2>&1) |
         sed -E 's/, [0-9.]+ (ms|us|s); changed/, 0.1 ms; changed/' # times are the machine's
      status=${PIPESTATUS[0]}
   done < <(grep '^\$ ' "$1")
   return "$status"
}

codes() { # OUTPUT: the codes in it; the fault of a run is text where diagnostics are JSON
   { grep -o '"code":"[A-Z][0-9]*"' "$1" | cut -d '"' -f 4
     grep -oE '(error|warning)\[[A-Z][0-9]*\]' "$1" | grep -o '[EW][0-9]*'; } | sort -u
}

has_code() { # CODE OUTPUT; a note of a run has no code, but its text
   local pattern
   codes "$2" | grep -qx -- "$1" && return
   pattern=$(head -n 1 "$work/explained" | sed 's/^[^:]*: //; s/[][*^$]/./g; s/\.\.\./.*/g')
   [[ $1 == N* ]] && grep -q "^[^{]*: note: $pattern$" "$2"
}

bless() { # PAGE BLOCK OUTPUT
   awk -v block="$2" -v output="$3" '
      /^```/ { inside = !inside; n += inside
               print
               if (n == block && inside) while ((getline line <output) > 0) print line
               next }
      !(inside && n == block) { print }' "$1" >"$work/blessed"
   cmp -s -- "$work/blessed" "$1" || cp -- "$work/blessed" "$1"
}

check_wrong() { # CODE PAGE CONSOLE [EXAMPLE]
   local code=$1 page=$2 console=$3 others
   play "$console" text "${@:4}" >"$work/output"
   if [[ -n ${TILEC_BLESS:-} ]]; then
      bless "$page" "$(basename -- "${console%.console}")" "$work/output"
   elif ! diff -u -- "$console" "$work/output" >"$work/diff"; then
      fail "$code" "its commands print something else" "$work/diff"
   fi
   play "$console" json "${@:4}" >"$work/output"
   has_code "$code" "$work/output" || fail "$code" "is not reported" "$work/output"
   case $code in
   E*) others=$(codes "$work/output" | grep '^[EW]' | grep -vx -- "$code") ;;
   W*) others=$(codes "$work/output" | grep '^[EW]' | grep -vx -- "$code") ;;
   *) others= ;;
   esac
   [[ -z $others ]] || fail "$code" "others are reported with it:" "$work/output"
}

check_right() { # CODE CONSOLE [EXAMPLE]
   local code=$1 unwanted=$1
   [[ $code == [EW]* ]] && unwanted='[EW].*'
   play "$2" json "${@:3}" >"$work/output" || fail "$code" "the right example fails" "$work/output"
   codes "$work/output" | grep -qx -- "$unwanted" &&
      fail "$code" "the right example is reported too" "$work/output"
}

# What no command can provoke, a unit test does: "Provoked by `tests/unit/...`."
check_test() { # CODE PAGE
   local test
   test=$(sed -n 's/^Provoked by `\(tests\/unit\/.*\.c\)`\.$/\1/p' -- "$2")
   [[ -n $test ]] || { fail "$1" "the page has no command and names no test"; return; }
   grep -q -- "$1" "$source/$test" || fail "$1" "is not expected in $test"
   count=$((count + 1))
}

check_page() { # CODE
   local code=$1 page=$source/compiler/base/explain/$1.md blocks wrong=() right=() commands= i
   [[ -f $page ]] || { fail "$code" "has no page $page"; return; }
   [[ $(head -n 1 -- "$page") == "# $code" ]] || fail "$code" "the page's title is not its code"
   [[ $(sed -n '3p' -- "$page") == [A-Z\`\'\"]* ]] || fail "$code" "the page begins with no sentence"
   split "$page"
   mapfile -t blocks < <(cd -- "$work/page" && printf '%s\n' * | sort -n)
   for i in "${blocks[@]}"; do
      case $i in
      *.console)
         if [[ -z $commands ]]; then
            commands=$work/page/$i
            check_wrong "$code" "$page" "$commands" "${wrong[@]}"
         else
            commands=$work/page/$i
         fi
         ;;
      *) if [[ -z $commands ]]; then wrong=("$work/page/$i"); else right=("$work/page/$i"); fi ;;
      esac
   done
   if [[ -z $commands ]]; then
      check_test "$code" "$page"
      return
   fi
   [[ ${#right[@]} -gt 0 || $(printf '%s\n' "${blocks[@]}" | grep -c console) -gt 1 ]] ||
      { fail "$code" "the page has no right example"; return; }
   check_right "$code" "$commands" "${right[@]}"
   count=$((count + 1))
}

"$tilec" explain >"$work/list" || fail explain "does not list the codes"
for code in $(cut -d : -f 1 "$work/list"); do
   for family in "${@:-[EWRN]}"; do
      [[ $code == $family* ]] || continue
      "$tilec" explain "$code" >"$work/explained" || fail "$code" "explain fails"
      head -n 1 "$work/explained" | grep -q '%[a-z]' && fail "$code" "a placeholder is shown"
      check_page "$code"
   done
done
for page in "$source"/compiler/base/explain/*.md; do
   code=$(basename -- "$page" .md)
   grep -q "^$code: " "$work/list" || fail "$code" "has a page and no row"
done
# docs/diagnostics.md ends with the list of all codes.
{ sed '/^- \[/,$d' "$source/docs/diagnostics.md"
  sed 's|^\([A-Z][0-9]*\): \(.*\)|- [\1](../compiler/base/explain/\1.md) `\2`|' "$work/list"; } >"$work/docs"
if ! cmp -s -- "$work/docs" "$source/docs/diagnostics.md"; then
   if [[ -n ${TILEC_BLESS:-} ]]; then cp -- "$work/docs" "$source/docs/diagnostics.md"
   else fail docs/diagnostics.md "does not list the codes as they are; TILEC_BLESS=1 rewrites it"; fi
fi
"$tilec" explain E9999 2>/dev/null && fail E9999 "an unknown code is explained"
"$tilec" explain e0312 2>&1 | grep -q "did you mean 'E0312'" || fail e0312 "has no suggestion"
[[ $count -gt 0 ]] || fail "$*" "no code belongs to it"
echo "$count pages checked"
[[ $failed -eq 0 ]]
