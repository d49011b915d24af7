#!/usr/bin/env bash
# check_nvim.sh TILEC: Neovim, without a screen, as a client of `tilec lsp`.  Exit 77 (skipped) without Neovim.
set -euo pipefail
support=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
command -v nvim >/dev/null || { echo "no nvim: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cd -- "$work"
printf '@jit\ndef twice(v):\n    return v + v\n' >helpers.tile
printf 'from helpers import twice\n\n@kernel\ndef k(x):\n    i = arange(0, 64)\n    store(x + i, twice(load(x + i)))\n' >main.tile
XDG_STATE_HOME=$work TILEC=$1 TILEC_OUT=$work/out timeout 100 nvim --headless -u NONE -i NONE main.tile \
   -c "luafile $support/lsp_nvim.lua" -c "qa!" >log 2>&1 || { cat log; exit 1; }
diff -u - out <<'END'
definition helpers.tile:2
hover i: tile<i32, 64>
renamed     store(x + index, twice(load(x + index)))
diagnostic 6: unknown name 'twce' help: did you mean 'twice'?
END
echo "4 sights"
