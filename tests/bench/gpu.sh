#!/bin/sh
# Measures the GPU back end on the adapter that ADL_GPU selects, in one call:
#
#     sh tests/bench/gpu.sh OUT [STEP...]        steps: tests kernels operators models peers
#
# Each step writes OUT/STEP.log, whose end is printed. The exit code is 1 if a step failed, which a wrong result or the limit causes.
#
# BIN     the directory of the programs (default: that of cargo, built here if cargo is there). BIN/tests may hold the test
#         executables of `lang/gpu`; without them, cargo runs these tests.
# N, SIZE elements for kernels and for operators (default 10^8 and 10^7; 10^5 and 4,000 on an adapter in software)
# LIMIT   the longest time of a program in seconds (default 120; 600 in software)
# PYTHON  the Python of the step peers (default python3), with jax or torch
set -u
[ $# -gt 0 ] || { sed -n '2,5p' "$0"; exit 1; }
mkdir -p "$1" || exit 1
out=$(cd "$1" && pwd)
shift
[ -z "${BIN:-}" ] || BIN=$(cd "$BIN" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1
steps=${*:-tests kernels operators models peers}
python=${PYTHON:-python3}
failed=

if [ -z "${BIN:-}" ]; then
    bin=${CARGO_TARGET_DIR:-target}/release
    if command -v cargo >/dev/null; then
        cargo build --release -p adl -p adl-tests --bins || exit 1
    fi
else
    bin=$BIN
fi
adapter=$("$bin/gpu" --adapter) || exit 1
echo "$adapter"
case $adapter in
software*)
    n=${N:-100000} size=${SIZE:-4000} limit=${LIMIT:-600} small=small
    export ADL_SMALL=1
    ;;
*)
    n=${N:-100000000} size=${SIZE:-10000000} limit=${LIMIT:-120} small=
    ;;
esac

step() {
    log=$1
    shift
    echo "== $log: $*"
    start=$(date +%s)
    timeout "$limit" "$@" >>"$out/$log.log" 2>&1
    code=$?
    echo "   exit code $code, $(($(date +%s) - start)) s"
    [ $code -eq 0 ] || failed="$failed $log"
}

for s in $steps; do
    echo "$adapter" >"$out/$s.log"
    case $s in
    tests)
        if [ -d "$bin/tests" ]; then
            for t in "$bin"/tests/*; do
                [ -x "$t" ] && step tests "$t"
            done
        elif command -v cargo >/dev/null; then
            limit=1800 step tests cargo test -p adl-gpu
        else
            echo "== tests: $bin/tests has no executables, and there is no cargo"
            failed="$failed tests"
        fi
        grep -E '^test result|FAILED' "$out/tests.log"
        ;;
    kernels)
        step kernels "$bin/gpu" --n "$n"
        cat "$out/kernels.log"
        ;;
    operators)
        for ty in '' --f32; do
            step operators "$bin/operators" --device gpu --bins 31,401,500000 --size "$size" --seconds 0.1 $ty
        done
        cat "$out/operators.log"
        ;;
    models)
        step models "$bin/adl" --device gpu bench tests/bench/models.adl
        cat "$out/models.log"
        ;;
    peers)
        step peers "$python" tests/bench/gpu_peers.py --n "$n" --operators "" --tools jax,torch
        step peers "$python" tests/bench/gpu_peers.py --models $small --tools jax,torch
        step peers "$python" tests/bench/gpu_peers.py --n "$n" --operators "$size" --tools torch,jax
        cat "$out/peers.log"
        ;;
    *)
        echo "no step is called $s: tests kernels operators models peers"
        exit 1
        ;;
    esac
done
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
