//! Hand-written values and gradients of reductions, scans and histograms, as the baseline of benchmarks.

/// The value and the gradient of the sum of all results of a construct (`reduce`, `scan`, or `reduce_by_index` at keys)
/// with an operator. `None` if there is no hand-written version.
pub fn value_and_gradient(
    construct: &str,
    operator: &str,
    input: &[f64],
    keys: &[i64],
    bins: usize,
) -> Option<(f64, Vec<f64>)> {
    match (construct, operator) {
        ("reduce", "+") => Some((input.iter().sum(), vec![1.0; input.len()])),
        ("reduce", "min") => Some(least(input)),
        ("reduce", "*") => Some(product(input)),
        ("reduce", "linear functions") => Some(composed(input, false)),
        ("scan", "+") => Some(running_sums(input)),
        ("scan", "min") => Some(running_minima(input)),
        ("scan", "*") => Some(running_products(input)),
        ("scan", "linear functions") => Some(composed(input, true)),
        ("reduce_by_index", "+") => Some(counted(input, keys, bins)),
        ("reduce_by_index", "min") => Some(least_of_bins(input, keys, bins)),
        ("reduce_by_index", "*") => Some(products_of_bins(input, keys, bins)),
        _ => None,
    }
}

fn least(x: &[f64]) -> (f64, Vec<f64>) {
    let (mut at, mut best) = (0, f64::INFINITY);
    for (i, v) in x.iter().enumerate() {
        if *v < best {
            (at, best) = (i, *v);
        }
    }
    let mut g = vec![0.0; x.len()];
    g[at] = 1.0;
    (best, g)
}

fn product(x: &[f64]) -> (f64, Vec<f64>) {
    let y: f64 = x.iter().product();
    (y, x.iter().map(|v| y / v).collect())
}

fn running_sums(x: &[f64]) -> (f64, Vec<f64>) {
    let (mut so_far, mut total) = (0.0, 0.0);
    for v in x {
        so_far += v;
        total += so_far;
    }
    (total, (0..x.len()).map(|i| (x.len() - i) as f64).collect())
}

fn running_minima(x: &[f64]) -> (f64, Vec<f64>) {
    let (mut at, mut best, mut total) = (0, f64::INFINITY, 0.0);
    let mut g = vec![0.0; x.len()];
    for (i, v) in x.iter().enumerate() {
        if *v < best {
            (at, best) = (i, *v);
        }
        g[at] += 1.0;
        total += best;
    }
    (total, g)
}

fn running_products(x: &[f64]) -> (f64, Vec<f64>) {
    let (mut so_far, mut total, mut gradient) = (1.0, 0.0, Vec::with_capacity(x.len()));
    for v in x {
        gradient.push(so_far);
        so_far *= v;
        total += so_far;
    }
    let mut after = 0.0;
    for (v, g) in x.iter().zip(&mut gradient).rev() {
        let all = 1.0 + after;
        *g *= all;
        after = v * all;
    }
    (total, gradient)
}

/// Composes the functions `b + factors · t`: the first half of `x` holds the `b`, the second the `factors`.
fn composed(x: &[f64], each: bool) -> (f64, Vec<f64>) {
    let count = x.len() / 2;
    let (b, factors) = x.split_at(count);
    let (mut so_far, mut total) = ((0.0, 1.0), 0.0);
    let mut before = Vec::with_capacity(count);
    for i in 0..count {
        before.push(so_far);
        so_far = (b[i] + factors[i] * so_far.0, factors[i] * so_far.1);
        total += so_far.0 + so_far.1;
    }
    let mut g = vec![0.0; 2 * count];
    let (mut p, mut q) = (0.0, 0.0);
    for i in (0..count).rev() {
        if each || i + 1 == count {
            (p, q) = (p + 1.0, q + 1.0);
        }
        g[i] = p;
        g[count + i] = p * before[i].0 + q * before[i].1;
        (p, q) = (p * factors[i], q * factors[i]);
    }
    (if each { total } else { so_far.0 + so_far.1 }, g)
}

fn counted(x: &[f64], keys: &[i64], bins: usize) -> (f64, Vec<f64>) {
    let mut h = vec![0.0; bins];
    keys.iter().zip(x).for_each(|(k, v)| h[*k as usize] += v);
    (h.iter().sum(), vec![1.0; x.len()])
}

fn least_of_bins(x: &[f64], keys: &[i64], bins: usize) -> (f64, Vec<f64>) {
    let mut h = vec![(f64::INFINITY, usize::MAX); bins];
    for (i, (k, v)) in keys.iter().zip(x).enumerate() {
        if *v < h[*k as usize].0 {
            h[*k as usize] = (*v, i);
        }
    }
    let mut g = vec![0.0; x.len()];
    h.iter().filter(|b| b.1 < g.len()).map(|b| b.1).collect::<Vec<_>>().into_iter().for_each(|i| g[i] = 1.0);
    (h.iter().map(|b| b.0).sum(), g)
}

fn products_of_bins(x: &[f64], keys: &[i64], bins: usize) -> (f64, Vec<f64>) {
    let mut h = vec![1.0; bins];
    keys.iter().zip(x).for_each(|(k, v)| h[*k as usize] *= v);
    (h.iter().sum(), keys.iter().zip(x).map(|(k, v)| h[*k as usize] / v).collect())
}
