#!/usr/bin/env bash
# check_python.sh PYTHON LIBTILEC: data_parallel.py with 2 ranks on the CPU executor.
# Exit 77 (skipped) without torch 2.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
if ! "$1" -c 'import sys, torch; sys.exit(int(torch.__version__.split(".")[0]) < 2)' 2>/dev/null; then
   echo "no torch 2 for $1: data_parallel.py was not run"
   exit 77
fi
export TILEC_LIBRARY=$2 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH="$here/../../runtime/python${PYTHONPATH:+:$PYTHONPATH}"
timeout 100 "$1" -m torch.distributed.run --standalone --nproc-per-node 2 "$here/data_parallel.py"
