"""Functions for JAX and PyTorch, which have no reverse mode through most of these, and their derivatives by hand."""

import numpy as np

TEXT = """
let f x = x * sin x
let loss (w : [d]Float) (x : [n][d]Float) (y : [n]Float) : Float = mean ((x @ w - y) ^ 2)
let scaled (a : Float) (x : [n]Float) = a * x * x
let fit (p : {a : Float, b : [2]Float}) : Float = (p.a - 3.0) ^ 2 + sum ((p.b - [1.0, 2.0]) ^ 2)
let polar (x : Float) (y : Float) = (sqrt (x * x + y * y), {angle = atan2 y x, quadrant = if x > 0.0 then 1 else (2 : Int)})
let single (x : [n]F32) = sum (x * x)
let power (x : Float) (n : Int) : Float = loop p = 1.0 for i < n do p * x
-- Heron's square root: a loop whose end depends on the data.
let root (x : Float) : Float = loop s = x while abs (s * s - x) > 1e-15 * x do 0.5 * (s + x / s)
-- Recursion: the continued fraction x / (1 + x / (1 + …)), whose depth depends on the data.
let rec fraction (x : Float) (n : Int) : Float = if n == 0 then x else x / (1.0 + fraction x (n - 1))
let continued (x : Float) : Float = fraction x (if x > 1.0 then 40 else 20)
-- Data types: an expression as a tree, built and evaluated by recursion.
type Term = Const Float | Var | Add Term Term | Mul Term Term | Exp Term
let rec value (t : Term) (x : Float) : Float = match t with
  | Const c -> c
  | Var -> x
  | Add a b -> value a x + value b x
  | Mul a b -> value a x * value b x
  | Exp a -> exp (value a x)
let rec nested (n : Int) (c : Float) : Term = if n == 0 then Var else Add (Const c) (Mul (nested (n - 1) c) Var)
-- horner c x = c + x * (c + x * …), as a tree whose constants depend on an argument too.
let horner (c : Float) (x : Float) : Float = value (Exp (Mul (Const 0.1) (nested 5 c))) x
"""


def slope(x):
    """Of `f`."""
    return np.sin(x) + x * np.cos(x)


def continued_slope(x):
    """Of `continued`, forwards through the recursion."""
    y, dy = x, 1.0
    for _ in range(40 if x > 1.0 else 20):
        y, dy = x / (1.0 + y), 1.0 / (1.0 + y) - x * dy / (1.0 + y) ** 2
    return dy


def horner_slopes(c, x):
    """Of `horner`, with respect to both arguments, by its closed form."""
    powers = x ** np.arange(6)
    inner = 0.1 * (c * powers[:5].sum() + x**6)
    by_c = 0.1 * powers[:5].sum()
    by_x = 0.1 * (c * (np.arange(1, 5) * powers[:4]).sum() + 6 * x**5)
    return np.exp(inner) * by_c, np.exp(inner) * by_x
