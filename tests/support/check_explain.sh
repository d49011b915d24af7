#!/bin/sh
# Every code of the tables has a text: check_explain.sh TILEC SOURCE_DIR
tilec=$1
count=0
for code in $(cat "$2"/compiler/base/diag*.def | sed -n 's/^ *TL_DIAG(\([A-Z][0-9]*\),.*/\1/p'); do
   text=$("$tilec" explain "$code") || { echo "$code: explain fails"; exit 1; }
   first=$(printf '%s\n' "$text" | head -n 1)
   case $first in
   "$code: "*%[a-z]*) echo "$code: a placeholder is shown: $first"; exit 1 ;;
   "$code: "?*) ;;
   *) echo "$code: no sentence: $first"; exit 1 ;;
   esac
   [ "$(printf '%s\n' "$text" | wc -l)" -ge 3 ] || { echo "$code: its family has no text"; exit 1; }
   count=$((count + 1))
done
[ "$count" -gt 100 ] || { echo "only $count codes found"; exit 1; }
"$tilec" explain E9999 2>/dev/null && { echo "an unknown code was explained"; exit 1; }
echo "$count codes"
