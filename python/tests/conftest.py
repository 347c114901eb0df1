import pytest

import adl

TEXT = """
--| The text of `f`.
let f x = x * sin x
--| Mean squared error of a linear model.
let loss (w : [d]Float) (x : [n][d]Float) (y : [n]Float) : Float = mean ((x @ w - y) ^ 2)
let model p x = p.a * x + p.b
let fit (p : {a : Float, b : [2]Float}) : Float = (p.a - 3.0) ^ 2 + sum ((p.b - [1.0, 2.0]) ^ 2)
type Shape = Circle Float | Rect Float Float | Point
let area s = match s with
  | Circle r -> 3.0 * r * r
  | Rect a b -> a * b
  | Point -> 0.0
let grow s = match s with
  | Circle r -> Circle (2.0 * r)
  | other -> other
let apply (g : Float -> Float) x = g x + 1.0
let total (x : [n]Float) = sum x
let twice (x : [n]Float) = 2.0 * x
let count (x : [n]Int) = sum x
let same (x : [n]Float) = x
let keep (x : [n]Float) = fun i -> x[i]
let flip (b : [n]Bool) = map not b
let or_zero (x : Option Float) : Float = match x with
  | Some v -> v
  | None -> 0.0
let half x = if x > 1.0 then Some (x / 2.0) else None
let push (xs : List Float) = Cons 1.0 xs
let halve (x : Float) : Float = loop x = x while x > 1.0 do x * 0.5
let spin n = loop s = 1 for i < n do (s * 3 + i) % 1000
let hello name = "hello " ++ name
let rosenbrock (x : [n]Float) : Float =
  sum (for i < len x - 1 -> 100.0 * (x[i + 1] - x[i] ^ 2) ^ 2 + (1.0 - x[i]) ^ 2)
let root (x : Float) : Float = loop s = x while abs (s * s - x) > 1e-14 * x do 0.5 * (s + x / s)
let scale = lin x -> 3.0 * (x : [2]Float)
let rate = 0.25
let table = [[1.0, 2.0], [3.0, 4.0]]
"""


@pytest.fixture(scope="session")
def m():
    return adl.source(TEXT)
