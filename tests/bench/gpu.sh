#!/bin/sh
# Measures the GPU back end on the adapter that ADL_GPU selects, in one call:
#
#     sh tests/bench/gpu.sh OUT [STEP...]        steps: tests kernels operators models peers
#
# BIN is the directory of the programs (default target/release); N and SIZE are the numbers of elements of kernels and operators.
# LIMIT is the longest time of a step in seconds. Each step writes OUT/STEP.log; the end of each log is printed.
# `tests` runs the test executables in BIN/tests, if there are any: the kernels' results on this adapter.
set -u
out=$1
shift
steps=${*:-tests kernels operators models peers}
bin=${BIN:-target/release}
here=$(dirname "$0")
limit=${LIMIT:-120}
n=${N:-100000000}
size=${SIZE:-10000000}
mkdir -p "$out"

step() {
    log=$1
    shift
    echo "== $log: $*"
    start=$(date +%s)
    timeout "$limit" "$@" >>"$out/$log.log" 2>&1
    echo "   exit code $?, $(($(date +%s) - start)) s"
}

for s in $steps; do
    : >"$out/$s.log"
    case $s in
    tests)
        for t in "$bin"/tests/*; do
            [ -x "$t" ] && step tests "$t" --test-threads=8
        done
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
        step models "$bin/adl" --device gpu bench "$here/models.adl"
        cat "$out/models.log"
        ;;
    peers)
        step peers python3 "$here/gpu_peers.py" --n "$n" --operators "" --tools jax,torch
        step peers python3 "$here/gpu_peers.py" --models --tools jax,torch
        step peers python3 "$here/gpu_peers.py" --n 1000000 --operators "$size" --tools torch,jax
        cat "$out/peers.log"
        ;;
    *)
        echo "no step is called $s: tests kernels operators models peers"
        exit 1
        ;;
    esac
done
