"""What `cargo run --release -p adl-tests --bin gpu` times, in JAX and PyTorch on the same machine: the same rows, and times of
derivatives beside those of the functions for operators of "Reverse-Mode AD of Multi-Reduce and Scan in Futhark" (Fig. 9 and 10).

    python gpu_peers.py [--n 10000000] [--json] [--tools jax,torch] [--operators 10000000,100000000]

Times are medians of seven rounds after a warm-up, without transfers; compilation is not counted. A result that is not NumPy's
within the bounds that stand beside it ends the run."""

import argparse
import json
import statistics
import time

import numpy as np

ROUNDS = 7
ROUND = 0.02


class Jax:
    name = "jax"

    def __init__(self):
        import jax

        jax.config.update("jax_enable_x64", True)
        self.jax, self.np = jax, jax.numpy

    def array(self, x):
        return self.jax.device_put(x)

    def wait(self, x):
        self.jax.block_until_ready(x)

    def compiled(self, f):
        return self.jax.jit(f)

    def copy(self, x):
        return self.np.array(x, copy=True)

    def scan(self, x):
        return self.np.cumsum(x)

    def histogram(self, keys, x, bins):
        return self.np.zeros(bins, x.dtype).at[keys].add(x)

    def extremes(self, keys, x, bins):
        return self.np.full(bins, np.inf, x.dtype).at[keys].min(x)

    def sort(self, x):
        return self.np.sort(x)

    def product(self, x, y):
        return self.jax.lax.dot(x, y, precision=self.jax.lax.Precision.HIGHEST)

    def running(self, op, x):
        return {"+": self.np.cumsum, "*": self.np.cumprod, "min": self.jax.lax.cummin}[op](x)

    def reduced(self, op, x):
        return {"+": self.np.sum, "*": self.np.prod, "min": self.np.min}[op](x)

    def gradient(self, f):
        return self.jax.jit(self.jax.value_and_grad(f))


class Torch:
    name = "torch"

    def __init__(self):
        import torch

        self.torch = torch
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        torch.backends.cuda.matmul.allow_tf32 = False

    def array(self, x):
        return self.torch.from_numpy(np.ascontiguousarray(x)).to(self.device)

    def wait(self, x):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def compiled(self, f):
        return f

    def copy(self, x):
        return x.clone()

    def scan(self, x):
        return self.torch.cumsum(x, 0)

    def histogram(self, keys, x, bins):
        return self.torch.zeros(bins, dtype=x.dtype, device=x.device).index_add(0, keys, x)

    def extremes(self, keys, x, bins):
        empty = self.torch.full((bins,), float("inf"), dtype=x.dtype, device=x.device)
        return empty.scatter_reduce(0, keys, x, "amin")

    def sort(self, x):
        return self.torch.sort(x).values

    def product(self, x, y):
        return x @ y

    def running(self, op, x):
        t = self.torch
        return t.cummin(x, 0).values if op == "min" else {"+": t.cumsum, "*": t.cumprod}[op](x, 0)

    def reduced(self, op, x):
        return {"+": self.torch.sum, "*": self.torch.prod, "min": self.torch.min}[op](x)

    def gradient(self, f):
        def run(x):
            x = x.detach().requires_grad_(True)
            y = f(x)
            y.backward()
            return y.detach(), x.grad

        return run


def host(x):
    return x.detach().cpu().numpy() if hasattr(x, "detach") else np.asarray(x)


def timed(tool, f, *args):
    """Seconds of a call, and what it makes."""

    def rounds(times):
        start = time.perf_counter()
        for _ in range(times):
            made = f(*args)
        tool.wait(made)
        return (time.perf_counter() - start) / times, made

    rounds(1)
    once, made = rounds(2)
    times = min(max(int(ROUND / max(once, 1e-9)), 1), 100)
    return statistics.median(rounds(times)[0] for _ in range(ROUNDS)), made


def check(what, got, want, most):
    wrong = ~(np.abs(host(got).astype(np.float64) - want) <= most)
    if wrong.any():
        raise SystemExit(f"{what}: {int(wrong.sum())} numbers are not those of NumPy")


class Rows:
    def __init__(self, tool, as_json):
        self.tool, self.json, self.copied = tool, as_json, 1.0

    def row(self, what, dtype, n, seconds, rate, unit):
        of = 100 * rate / self.copied if unit == "GB/s" else 0.0
        ty = {"float32": "f32", "float64": "f64"}[np.dtype(dtype).name]
        if self.json:
            made = dict(tool=self.tool.name, what=what, type=ty, n=n, ms=round(seconds * 1e3, 4), rate=round(rate, 1), unit=unit)
            print(json.dumps(dict(made, percent_of_copy=round(of, 1))), flush=True)
        else:
            share = f"{of:7.1f} % of copy" if of else ""
            print(f"{self.tool.name:<6} {what:<24} {ty} {n:>11} {seconds * 1e3:>11.3f} ms {rate:>10.1f} {unit:<7}{share}", flush=True)


def kernels(tool, rows, dtype, n):
    rng = np.random.default_rng(1)
    host_x = (rng.random(n, dtype=np.float32) - np.float32(0.5)).astype(dtype)
    wide, size, eps = host_x.astype(np.float64), np.dtype(dtype).itemsize, np.finfo(dtype).eps
    x, most = tool.array(host_x), 64 * eps * np.abs(wide).sum()

    def band(what, f, want, bound, moved, *args):
        # A compiled copy may be none at all.
        seconds, made = timed(tool, f if what == "copy" else tool.compiled(f), *args)
        check(what, made, want, bound)
        rate = moved * n / seconds / 1e9
        if what == "copy":
            rows.copied = rate
        rows.row(what, dtype, n, seconds, rate, "GB/s")

    band("copy", tool.copy, wide, 0, 2 * size, x)
    band("map", lambda x: x * 2 + 2, wide * 2 + 2, 4 * eps, 2 * size, x)
    band("reduce", lambda x: x.sum(), wide.sum(), most, size, x)
    band("scan", tool.scan, np.cumsum(wide), most, 2 * size, x)
    for bins in [31, 401, 500_000]:
        ks = rng.integers(0, bins, n)
        want = np.bincount(ks, wide, bins)
        bound = (1200 + 2 * n / bins) * eps * np.bincount(ks, np.abs(wide), bins)
        band(f"histogram {bins}", lambda k, x, b=bins: tool.histogram(k, x, b), want, bound, 8 + size, tool.array(ks), x)
    seconds, made = timed(tool, tool.compiled(tool.sort), x)
    check("sort", made, np.sort(wide), 0)
    rows.row("sort", dtype, n, seconds, n / seconds / 1e6, "M/s")
    edge = 4096 if n >= 10_000_000 else 256
    a, b = (rng.integers(-4, 5, (edge, edge)).astype(dtype) for _ in range(2))
    seconds, made = timed(tool, tool.compiled(tool.product), tool.array(a), tool.array(b))
    check("product", made, a.astype(np.float64) @ b.astype(np.float64), 0)
    rows.row("matrix product", dtype, edge, seconds, 2 * edge**3 / seconds / 1e9, "GFLOP/s")


def operators(tool, rows, n):
    """Function and derivative (with the function) of each operator: the ratio is the derivative's time over the function's."""
    rng = np.random.default_rng(2)
    # Products of so many numbers stay near one.
    x = tool.array(1 + (rng.random(n) - 0.5) * 1e-4)
    ks = {bins: tool.array(rng.integers(0, bins, n)) for bins in [31, 401, 500_000]}
    work = {f"reduce {op}": lambda x, op=op: tool.reduced(op, x) for op in ["+", "min", "*"]}
    work |= {f"scan {op}": lambda x, op=op: tool.running(op, x).sum() for op in ["+", "min", "*"]}
    for bins, k in ks.items():
        work[f"histogram {bins} +"] = lambda x, k=k, b=bins: tool.histogram(k, x, b).sum()
        work[f"histogram {bins} min"] = lambda x, k=k, b=bins: tool.extremes(k, x, b).sum()
    for what, f in work.items():
        try:
            primal, _ = timed(tool, tool.compiled(f), x)
            both, _ = timed(tool, tool.gradient(f), x)
        except Exception as why:  # a tool may lack a rule, or memory: the row says so, and the others follow
            print(f"{tool.name:<6} {what:<24} f64 {n:>11} fails: {str(why).splitlines()[0][:80] if str(why) else type(why).__name__}", flush=True)
            continue
        rows.row(what, np.float64, n, primal, 8 * n / primal / 1e9, "GB/s of input")
        rows.row(f"{what}, derivative", np.float64, n, both, both / primal, "times")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--n", type=int, default=10_000_000)
    p.add_argument("--json", action="store_true")
    p.add_argument("--tools", default="jax,torch")
    p.add_argument("--operators", default="10000000,100000000")
    a = p.parse_args()
    for name in a.tools.split(","):
        try:
            tool = {"jax": Jax, "torch": Torch}[name]()
        except ImportError as why:
            print(f"{name}: {why}")
            continue
        rows = Rows(tool, a.json)
        for dtype in [np.float32, np.float64]:
            kernels(tool, rows, dtype, a.n)
        for n in filter(None, a.operators.split(",")):
            operators(tool, rows, int(n))


if __name__ == "__main__":
    main()
