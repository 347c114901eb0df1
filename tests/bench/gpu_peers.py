"""What `cargo run --release -p adl-tests --bin gpu` times, in JAX and PyTorch on the same machine: the same rows, and times of
derivatives beside those of the functions for operators of "Reverse-Mode AD of Multi-Reduce and Scan in Futhark" (Fig. 9 and 10).

    python gpu_peers.py [--n 10000000] [--json] [--tools jax,torch] [--operators 10000000,100000000] [--models [small]]

The rows of operators are those of `operators --device gpu --bins 31,401,500000 --size N`; with `--models` the models of `models.adl` beside this file
(`adl --device gpu bench models.adl`) are timed at the same sizes, as a user of JAX or PyTorch would write them (`gpu_models.py`).

Times are medians of seven rounds after a warm-up, without transfers; compilation is not counted. A result that is not NumPy's
within the bounds that stand beside it ends the run."""

import argparse
import json
import statistics
import time

import gpu_models
import numpy as np

ROUNDS = 7
ROUND = 0.02
WARM = 0.4


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

    def products(self, keys, x, bins):
        return self.np.ones(bins, x.dtype).at[keys].multiply(x)

    def scanned(self, op, x):
        """A scan by an operator on tuples."""
        return self.jax.lax.associative_scan(op, x)

    def folded(self, op, x):
        """A reduction by an operator on tuples, in halves: JAX differentiates no reduction by an operator of one's own."""
        while len(x[0]) > 1:
            n = len(x[0])
            rest = tuple(a[n - 1 :] for a in x) if n % 2 else ()
            x = op(tuple(a[0 : n - n % 2 : 2] for a in x), tuple(a[1::2] for a in x))
            if rest:
                x = tuple(self.np.concatenate(p) for p in zip(x, rest))
        return tuple(a[0] for a in x)

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

    # An idle GPU has a low clock, and raises it only after a while.
    rounds(1)
    start = time.perf_counter()
    while time.perf_counter() - start < WARM:
        rounds(4)
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
    for name, (split, op, number) in tuples().items() if hasattr(tool, "folded") else ():
        work[f"reduce {name}"] = lambda x, s=split, op=op, r=number: r(tool.folded(op, s(x)))
        work[f"scan {name}"] = lambda x, s=split, op=op, r=number: r(tool.scanned(op, s(x))).sum()
    for bins, k in ks.items():
        if hasattr(tool, "products"):
            work[f"histogram {bins} *"] = lambda x, k=k, b=bins: tool.products(k, x, b).sum()
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


def tuples():
    """Operators on tuples: how elements come from a vector of all numbers, the operator, and a number of what it gives."""

    def halves(x):
        return x[: len(x) // 2], x[len(x) // 2 :]

    def matrices(k):
        # Products of matrices of ones grow by k each.
        return lambda x: (x[: len(x) // (k * k) * k * k].reshape(-1, k, k) / k,)

    def product(a, b):
        return (a[0] @ b[0],)

    def linear(a, b):
        return b[0] + b[1] * a[0], b[1] * a[1]

    def pairs(a, b):
        return a[0] + b[0] + a[1] * b[1], a[1] + b[1]

    made = {
        "linear functions": (halves, linear, lambda r: r[0] + r[1]),
        "sums of products": (halves, pairs, lambda r: r[0] + r[1]),
        "vectorised *": (lambda x: (x.reshape(-1, 8),), lambda a, b: (a[0] * b[0],), lambda r: r[0].sum()),
    }
    return made | {f"{k}x{k} matrices": (matrices(k), product, lambda r: r[0].sum()) for k in [2, 3, 5]}


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--n", type=int, default=10_000_000)
    p.add_argument("--json", action="store_true")
    p.add_argument("--tools", default="jax,torch")
    p.add_argument("--operators", default="10000000,100000000")
    p.add_argument("--models", nargs="?", const="full", choices=["full", "small"])
    a = p.parse_args()
    for name in a.tools.split(","):
        try:
            tool = {"jax": Jax, "torch": Torch}[name]()
        except ImportError as why:
            print(f"{name}: {why}")
            continue
        rows = Rows(tool, a.json)
        if a.models:
            gpu_models.run(tool, rows, timed, a.models == "small")
            continue
        for dtype in [np.float32, np.float64]:
            kernels(tool, rows, dtype, a.n)
        for n in filter(None, a.operators.split(",")):
            operators(tool, rows, int(n))


if __name__ == "__main__":
    main()
