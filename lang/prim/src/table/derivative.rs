//! Derivatives and what controls them.

use super::{Linearity as L, Row, family, scheme};

family! {
    /// A derivative operator.
    DerivativeFn {
        Jvp "jvp": scheme("(Diff a, Diff b) => (a -> b) -> a -> a -> (b, b)", 3, L::In(&[2])),
        "`jvp f x v`: the value and the derivative in direction `v` (forward mode).",
        ["jvp sin 0.0 2.0 => (0.0, 2.0) : (Float, Float)"];
        Linearize "linearize": scheme("(Diff a, Diff b) => (a -> b) -> a -> (b, a -o b)", 2, L::None),
        "The value and the derivative as a linear function; `f` runs once.",
        ["(snd (linearize (fun x -> x * x) 3.0)) 1.0 => 6.0 : Float"];
        Vjp "vjp": scheme("(Diff a, Diff b) => (a -> b) -> a -> (b, b -o a)", 2, L::None),
        "The value and the transposed derivative (reverse mode).",
        ["(snd (vjp (fun x -> x * x) 3.0)) 1.0 => 6.0 : Float"];
        Transpose "transpose": scheme("(Diff a, Diff b) => (a -o b) -> (b -o a)", 1, L::None),
        "The transposed linear function. The shape of its input must be known; otherwise use `transpose_at`.",
        ["(transpose (lin x -> 3.0 * (x : Float))) 2.0 => 6.0 : Float"];
        TransposeAt "transpose_at": scheme("(Diff a, Diff b) => a -> (a -o b) -> (b -o a)", 2, L::None),
        "`transpose_at like f`: transposes `f`, whose input is shaped as `like`.",
        ["(transpose_at [0.0, 0.0] (lin x -> sum x)) 2.0 => [2.0, 2.0] : [2]Float"];
        Grad "grad": scheme("(Diff a, Real s) => (a -> s) -> a -> a", 2, L::None),
        "The gradient of a scalar function of any data (reverse mode).",
        [
            "grad (fun x -> x * x) 3.0 => 6.0 : Float",
            "grad (fun r -> r.a * r.b) {a = 2.0, b = 5.0} => {a = 5.0, b = 2.0} : {a : Float, b : Float}",
        ];
        ValueAndGrad "value_and_grad": scheme("(Diff a, Real s) => (a -> s) -> a -> (s, a)", 2, L::None), "The value and the gradient.",
        ["value_and_grad (fun x -> x * x) 3.0 => (9.0, 6.0) : (Float, Float)"];
        Jacobian "jacobian": scheme("Real s => ([n]s -> [m]s) -> [n]s -> [m][n]s", 2, L::None),
        "The matrix of partial derivatives, by whichever mode needs fewer passes. Of numbers, matrices, tuples and \
         records it has the structure of the output, and in each leaf that of the input.",
        [
            "jacobian (fun x -> 2.0 * x) [1.0, 1.0] => [[2.0, 0.0], [0.0, 2.0]] : [2][2]Float",
            "jacobian (fun (x, y) -> x * y) (2.0, [1.0, 3.0]) => ([1.0, 3.0], [[2.0, 0.0], [0.0, 2.0]]) : ([2]Float, \
             [2][2]Float)",
        ];
        Jacfwd "jacfwd": scheme("Real s => ([n]s -> [m]s) -> [n]s -> [m][n]s", 2, L::None),
        "The Jacobian column by column (forward mode).",
        ["jacfwd (fun x -> x * x) [3.0] => [[6.0]] : [1][1]Float"];
        Jacrev "jacrev": scheme("Real s => ([n]s -> [m]s) -> [n]s -> [m][n]s", 2, L::None),
        "The Jacobian row by row (reverse mode).",
        ["jacrev (fun x -> x * x) [3.0] => [[6.0]] : [1][1]Float"];
        JacobianSparse "__jacobian_sparse": scheme("([n]Float -> [m]Float) -> [n]Float -> {col_indices : [_]Int, cols : Int, mode : String, \
                passes : Int, row_indices : [_]Int, rows : Int, values : [_]Float}", 2, L::None),
        "The Jacobian's entries that may be other than zero (`jacobian_sparse` wraps it).",
        [];
        Hessian "hessian": scheme("Real s => ([n]s -> s) -> [n]s -> [n][n]s", 2, L::None),
        "The matrix of second derivatives. Of numbers, matrices, tuples and records it has the structure of the \
         input twice.",
        ["hessian (fun x -> x[0] * x[1]) [1.0, 2.0] => [[0.0, 1.0], [1.0, 0.0]] : [2][2]Float"];
        Hvp "hvp": scheme("(Diff a, Real s) => (a -> s) -> a -> a -> a", 3, L::In(&[2])),
        "`hvp f x v`: the Hessian times `v`, without the Hessian.",
        ["hvp (fun x -> x ^ 3) 2.0 1.0 => 12.0 : Float"];
        StopGrad "stop_grad": scheme("a -> a", 1, L::None), "Its argument, as a constant to every derivative.",
        ["grad (fun x -> x * stop_grad x) 3.0 => 3.0 : Float"];
        Checkpoint "checkpoint": scheme("(a -> b) -> (a -> b)", 1, L::None),
        "The same function; reverse mode keeps its input only and runs it again.",
        ["grad (checkpoint (fun x -> sin (sin x))) 0.0 => 1.0 : Float"];
        CustomJvp "custom_jvp": scheme("(a -> b) -> (a -> (b, a -o b)) -> (a -> b)", 2, L::None),
        "The function, with a derivative of your own: the value and a linear map. Reverse mode transposes the map.",
        ["grad (custom_jvp (fun x -> x * x) (fun x -> (x * x, lin dx -> 10.0 * dx))) 3.0 => 10.0 : Float"];
        CustomVjp "custom_vjp": scheme("(a -> b) -> (a -> (b, b -o a)) -> (a -> b)", 2, L::None),
        "The function, with a reverse derivative of your own.",
        ["grad (custom_vjp (fun x -> x * x) (fun x -> (x * x, lin dy -> 10.0 * dy))) 3.0 => 10.0 : Float"];
        Gradcheck "gradcheck": scheme("(Diff a, Real s) => (a -> s) -> a -> {max_error : Float, ok : Bool, at : Int, gradient : Float, \
                difference : Float}", 2, L::None),
        "Compares `grad f x` with central differences, leaf by leaf: the largest error relative to the size of the \
         numbers, where in `ravel x` it is, and the two derivatives there.",
        ["(gradcheck (fun x -> x ^ 3) 2.0).ok => true : Bool"];
        GradWith "grad_with": scheme("(Diff a, Real s) => Plan -> (a -> s) -> a -> a", 3, L::None),
        "The gradient under a plan: what reverse mode stores and what it recomputes. The numbers are the same under \
         every plan. A budget that no plan keeps is an error.",
        ["grad_with Sqrt (fun x -> x * x) 3.0 => 6.0 : Float"];
        ValueAndGradWith "value_and_grad_with": scheme("(Diff a, Real s) => Plan -> (a -> s) -> a -> (s, a)", 3, L::None),
        "The value and the gradient under a plan.",
        ["value_and_grad_with RecomputeAll (fun x -> x * x) 3.0 => (9.0, 6.0) : (Float, Float)"];
        ResidualsUnder "__residuals": scheme("(Diff a, Diff b) => (a -> b) -> a -> Plan -> {again : Int, bytes : Int, frontier : \
                [_]{again : Int, bytes : Int, peak : Int, plan : String}, function : String, measured : Option Int, \
                measured_again : Option Int, measured_peak : Option Int, messages : Option {bytes : Int, function : Int, \
                gradient : Int}, peak : Int, plan : Plan, recomputed : \
                [_]Int, rows : [_]{bytes : Int, decision : String, expression : String, id : Int, line : Int, \
                movable : Bool, reason : String, shape : String, work : Int}, work : Int}", 3, L::None),
        "What a plan stores of `f x` (`residuals` wraps it).",
        [];
        Cost "cost": scheme("(a -> b) -> a -> Cost", 2, L::None), "Work of `f x` and of its derivatives, by source line.", [];
        Engine "__engine": scheme("(Diff a, Real s) => Bool -> Int -> (a -> s) -> a -> ([4]Int, String, Float, s, a)", 4, L::None),
        "A gradient by an engine, with what it cost.",
        [];
        EngineGrad "__engine_grad": scheme("(Diff a, Real s) => Int -> (a -> s) -> a -> a", 3, L::None),
        "A gradient by an engine (`engine.grad` wraps it).",
        [];
        Ravel "ravel": scheme("Diff a => a -> [_]Float", 1, L::In(&[0])), "The real leaves of any data as one vector.",
        ["ravel (1.0, [2.0, 3.0]) => [1.0, 2.0, 3.0] : [3]Float"];
        Unravel "unravel": scheme("Diff a => a -> [n]Float -> a", 2, L::In(&[1])),
        "`unravel like x`: data shaped as `like`, its real leaves taken from the vector `x`.",
        ["unravel (1.0, 2.0) [3.0, 4.0] => (3.0, 4.0) : (Float, Float)"];
    }
}
