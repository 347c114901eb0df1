"""The models of models.adl in JAX and PyTorch, written as one writes them there: with arrays of all points, products of matrices, and
the libraries' own convolutions. `gpu_peers.py --models` runs them."""

import numpy as np


class Sizes:
    def __init__(self, small):
        def size(full, less):
            return less if small else full

        self.clusters = size(10000, 300), size(1024, 16), size(256, 8)
        self.mixtures = [
            ("mixture of 200", size(1000, 100), size(200, 5), size(64, 4)),
            ("mixture of 25", size(10000, 200), size(25, 5), size(64, 4)),
        ]
        self.lstm = size(1024, 16), size(20, 5), size(300, 6), size(192, 4)
        self.convolution = size(64, 4), size(32, 8), size(16, 3), size(32, 4)
        self.bodies = size(8192, 64)


def lower_triangle(d):
    """Rows and columns below the diagonal, column by column, as the problem has them."""
    rows, cols = np.tril_indices(d, -1)
    order = np.lexsort((rows, cols))
    return rows[order], cols[order]


def jax_models(jax):
    """Each model of the parameters (the first argument) and data."""
    np_ = jax.numpy

    def k_means(c, p):
        distances = (p * p).sum(1)[:, None] + (c * c).sum(1)[None] - 2 * p @ c.T
        return distances.min(1).sum()

    def mixture(w, x):
        alpha, mu, q, l = w
        d = x.shape[1]
        rows, cols = lower_triangle(d)
        factors = jax.vmap(lambda q, l: np_.diag(np_.exp(q)).at[rows, cols].set(l))(q, l)
        z = np_.einsum("kij,nkj->nki", factors, x[:, None] - mu[None])
        terms = alpha + q.sum(1) - 0.5 * (z * z).sum(2)
        likelihood = jax.scipy.special.logsumexp(terms, 1).sum() - len(x) * (0.5 * d * np_.log(2 * np_.pi) + jax.scipy.special.logsumexp(alpha))
        return likelihood - 0.5 * (factors * factors).sum()

    def lstm(w, xs):
        def step(state, x):
            h, c = state
            a, b, e, g = np_.split(x @ w[0] + h @ w[1] + w[2], 4, 1)
            c = jax.nn.sigmoid(a) * c + jax.nn.sigmoid(b) * np_.tanh(e)
            return (jax.nn.sigmoid(g) * np_.tanh(c), c), None

        zero = np_.zeros((xs.shape[1], w[1].shape[0]))
        (h, _), _ = jax.lax.scan(step, (zero, zero), xs)
        return (h * h).mean()

    def convolution(w, x):
        out = np_.maximum(jax.lax.conv(x, w, (1, 1), "VALID"), 0.0)
        return (out * out).sum()

    def potential(x, m):
        v = x[:, None] - x[None]
        return -0.5 * (m[:, None] * m[None] / np_.sqrt((v * v).sum(2) + 1e-2)).sum()

    return k_means, mixture, lstm, convolution, potential


def torch_models(torch):
    """As `jax_models`."""

    def k_means(c, p):
        distances = (p * p).sum(1)[:, None] + (c * c).sum(1)[None] - 2 * p @ c.T
        return distances.min(1).values.sum()

    def mixture(w, x):
        alpha, mu, q, l = w
        d = x.shape[1]
        rows, cols = (torch.from_numpy(i).to(q.device)[None] for i in lower_triangle(d))
        each = torch.arange(len(q), device=q.device)[:, None]
        factors = torch.diag_embed(torch.exp(q)).index_put((each, rows, cols), l)
        z = torch.einsum("kij,nkj->nki", factors, x[:, None] - mu[None])
        terms = alpha + q.sum(1) - 0.5 * (z * z).sum(2)
        likelihood = torch.logsumexp(terms, 1).sum() - len(x) * (0.5 * d * np.log(2 * np.pi) + torch.logsumexp(alpha, 0))
        return likelihood - 0.5 * (factors * factors).sum()

    def lstm(w, xs):
        h = c = torch.zeros((xs.shape[1], w[1].shape[0]), dtype=xs.dtype, device=xs.device)
        for x in xs:
            a, b, e, g = torch.chunk(x @ w[0] + h @ w[1] + w[2], 4, 1)
            c = torch.sigmoid(a) * c + torch.sigmoid(b) * torch.tanh(e)
            h = torch.sigmoid(g) * torch.tanh(c)
        return (h * h).mean()

    def convolution(w, x):
        out = torch.relu(torch.nn.functional.conv2d(x, w))
        return (out * out).sum()

    def potential(x, m):
        v = x[:, None] - x[None]
        return -0.5 * (m[:, None] * m[None] / torch.sqrt((v * v).sum(2) + 1e-2)).sum()

    return k_means, mixture, lstm, convolution, potential


def tools(tool):
    """The models; the gradient by the first argument; forward mode over it."""
    if tool.name == "jax":
        jax = tool.jax
        return jax_models(jax), jax.grad, lambda f, x, t: jax.jvp(f, (x,), (t,))
    func = tool.torch.func
    return torch_models(tool.torch), func.grad, lambda f, x, t: func.jvp(f, (x,), (t,))


def run(tool, rows, timed, small):
    rng, sizes = np.random.default_rng(3), Sizes(small)
    (k_means, mixture, lstm, convolution, potential), grad, jvp = tools(tool)

    def normal(*shape):
        return tool.array(rng.standard_normal(shape))

    def row(what, f, *args):
        try:
            seconds, _ = timed(tool, tool.compiled(f), *args)
        except Exception as why:  # memory, say: the row says so, and the others follow
            print(f"{tool.name:<6} {what:<34} fails: {str(why).splitlines()[0][:80] if str(why) else type(why).__name__}", flush=True)
            return
        rows.row(what, np.float64, 0, seconds, 1 / seconds, "/s")

    n, k, d = sizes.clusters
    points = normal(n, d)
    centroids = points[:k]
    ones = tool.array(np.ones((k, d)))

    def newton(c, p):
        gradient, hessian = jvp(lambda c: grad(k_means)(c, p), c, ones)
        return gradient / hessian

    row("k-means, value", k_means, centroids, points)
    row("k-means, gradient", grad(k_means), centroids, points)
    row("k-means, Newton direction", newton, centroids, points)
    for what, n, k, d in sizes.mixtures:
        x, w = normal(n, d), (normal(k), normal(k, d), 0.1 * normal(k, d), 0.1 * normal(k, d * (d - 1) // 2))
        row(f"{what}, value", mixture, w, x)
        row(f"{what}, gradient", grad(mixture), w, x)
    batch, steps, inputs, units = sizes.lstm
    w = (0.1 * normal(inputs, 4 * units), 0.1 * normal(units, 4 * units), 0.1 * normal(4 * units))
    xs = normal(steps, batch, inputs)
    row("lstm, value", lstm, w, xs)
    row("lstm, gradient", grad(lstm), w, xs)
    images, edge, wide, out = sizes.convolution
    kernels, signal = 0.1 * normal(out, wide, 3, 3), normal(images, wide, edge + 2, edge + 2)
    row("convolution, value", convolution, kernels, signal)
    row("convolution, gradient by kernels", grad(convolution), kernels, signal)
    row("convolution, gradient by signal", grad(lambda x, w: convolution(w, x)), signal, kernels)
    m, x = tool.array(rng.random(sizes.bodies)), normal(sizes.bodies, 3)
    row("bodies, value", potential, x, m)
    row("bodies, gradient", grad(potential), x, m)
