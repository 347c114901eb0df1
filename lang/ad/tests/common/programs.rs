//! Programs whose derivatives are checked.

/// Small programs; the last function is the one under test.
pub const PROGRAMS: &[(&str, &str)] = &[
    ("scalars", "fn f0 f (v0: f64, v1: f64) -> (f64) {
        v2: f64 = sin v0  v3: f64 = mul v2 v1  v4: f64 = exp v3  v5: f64 = div v4 v0  v6: f64 = pow v0 v1
        v7: f64 = max v5 v6  v8: f64 = atan2 v7 v1
        return v8 }"),
    ("whole arrays with spreading", "fn f0 f (v0: []f64, v1: f64) -> (f64, []f64) {
        v2: []f64 = mul v0 v1  v3: []f64 = add v2 v1  v4: []f64 = sub v1 v3  v5: []f64 = tanh v4
        v6: f64 = sum v5  v7: f64 = dot v5 v0  v8: f64 = mul v6 v7
        return v8, v5 }"),
    ("structure", "fn f0 f (v0: [][]f64, v1: []f64) -> (f64, [][]f64, []f64) {
        v2: [][]f64 = transpose v0  v3: []f64 = matmul v2 v1  v4: []f64 = matmul v1 v0  v5: [][]f64 = matmul v0 v2
        v6: [][]f64 = outer v3 v4  v7: [][]f64 = mul v5 v6  v8: i64 = 2  v9: i64 = 1  v10: []f64 = index v7 [v8]
        v11: []f64 = slice v10 v9 v8  v12: []f64 = concat v11 v3  v13: []f64 = reverse v12  v14: []f64 = rotate v8 v13
        v15: []f64 = cumsum v14  v16: []i64 = shape v7  v17: f64 = sum_all v7  v18: [][]f64 = broadcast v17 v16
        v19: [][]f64 = add v18 v7  v20: i64 = 25  v21: []i64 = array v20  v22: []f64 = reshape v19 v21  v23: []i64 = array v8 v9 v8
        v24: []f64 = gather v22 v23  v25: f64 = dot v24 v24  v26: [][]f64 = replicate v9 v24  v27: [][]f64 = array v24 v24
        v28: []f64 = sum v27  v29: f64 = index v19 [v8, v9]  v30: f64 = mul v29 v25
        return v30, v26, v28 }"),
    ("built-ins", "fn f0 f (v0: []f64) -> (f64, f64, f64, []f64, []f64) {
        v1: f64 = prim maximum v0  v2: f64 = prim minimum v0  v3: f64 = prim prod v0  v4: []i64 = prim argsort v0
        v5: []f64 = gather v0 v4  v6: []f64 = prim cumprod v0  v7: []f64 = mul v6 v5
        return v1, v2, v3, v7, v6 }"),
    ("branches", "fn f0 f (v0: f64, v1: []f64, v2: bool) -> (f64) {
        v3: f64 = 0.5  v4: bool = lt v3 v0
        v5: f64, v6: f64 = if v4 { v7: f64 = sin v0  v8: f64 = mul v7 v7 return v8, v7 }
          else { v9: i64 = 1  v10: f64 = index v1 [v9]  v11: f64 = mul v10 v0 return v11, v3 }
        v12: f64 = if v2 { v13: i64 = 3  v14: f64 = index v1 [v13]  v15: f64 = mul v14 v5 return v15 } else { return v6 }
        v16: f64 = mul v12 v6
        return v16 }"),
    ("rows that are read again and again", "fn f0 f (v0: [][]f64, v1: [][]f64) -> (f64) {
        v2: i64 = dim 0 v0  v3: i64 = dim 0 v1  v4: i64 = dim 1 v0
        v5: f64, v6: i64 = loop for v2 over (v0) out (sum) (v7: i64, v8: []f64) {
          v9: f64, v10: i64 = loop for v3 over (v1) out (sum) (v11: i64, v12: []f64) {
            v13: f64, v14: i64 = loop for v4 out (sum) (v15: i64) {
              v16: f64 = index v8 [v15]  v17: f64 = index v12 [v15]  v18: f64 = mul v16 v17
              return v18 }
            return v13 }
          return v9 }
        return v5 }"),
    ("loops", "fn f0 f (v0: []f64, v1: f64) -> (f64, []f64) {
        v2: i64 = 7  v3: f64 = 0.1
        v4: f64, v5: []f64, v6: f64, v7: i64 = loop for v2 carry (v1) out (collect, sum) (v8: i64, v9: f64) {
            v10: i64 = 5  v11: i64 = rem v8 v10  v12: f64 = index v0 [v11]  v13: f64 = mul v9 v12  v14: f64 = sin v13
            v15: f64 = mul v14 v1  v16: f64 = add v15 v3
            return v16, v13, v14 }
        v17: f64, v18: i64 = loop while (v19: f64) { v20: f64 = 3.0  v21: bool = lt v19 v20 return v21 } carry (v4) (v22: i64, v23: f64) {
            v24: f64 = mul v23 v23  v25: f64 = add v24 v1  v26: f64 = add v25 v23 return v26 }
        v27: []f64 = mul v5 v17  v28: f64 = mul v6 v17
        return v28, v27 }"),
    ("a long loop", "fn f0 f (v0: []f64, v1: f64) -> (f64, []f64) {
        v2: i64 = 37  v3: f64 = 0.01
        v4: f64, v5: []f64, v6: i64 = loop for v2 carry (v1, v0) (v7: i64, v8: f64, v9: []f64) {
            v10: i64 = 5  v11: i64 = rem v7 v10  v12: f64 = index v0 [v11]  v13: f64 = mul v8 v12  v14: f64 = sin v13
            v15: f64 = mul v14 v3  v16: f64 = add v15 v8  v17: f64 = mul v1 v3  v18: []f64 = mul v9 v16
            v19: []f64 = cos v18  v20: []f64 = mul v19 v17  v21: []f64 = add v20 v9
            return v16, v21 }
        v22: f64 = mul v4 v4
        return v22, v5 }"),
    ("loops in loops and calls", "fn f0 inner (v0: f64, v1: []f64, v2: i64) -> (f64) {
        v3: f64, v4: i64 = loop for v2 carry (v0) over (v1) (v5: i64, v6: f64, v7: f64) {
            v8: f64 = mul v6 v7  v9: f64 = tanh v8  v10: f64 = add v9 v0 return v10 }
        return v3 }
        fn f1 f (v0: f64, v1: []f64) -> (f64) {
            v2: i64 = 11  v3: i64 = 5  v4: f64 = 0.3
            v5: f64, v6: i64 = loop for v2 carry (v0) (v7: i64, v8: f64) {
                v9: bool = lt v4 v8
                v10: f64 = if v9 { v11: f64 = call f0(v8, v1, v3) return v11 } else {
                    v12: f64, v13: i64 = loop for v3 carry (v8) (v14: i64, v15: f64) { v16: f64 = mul v15 v0  v17: f64 = exp v16 return v17 }
                    return v12 }
                v18: f64 = sin v10
                return v18 }
            return v5 }"),
    ("a loop that begins with what it reads", "fn f0 f (v0: [][]f64) -> (f64) {
        v1: i64 = 9
        v2: [][]f64, v3: i64 = loop for v1 carry (v0) (v4: i64, v5: [][]f64) { v6: [][]f64 = matmul v0 v5  v7: [][]f64 = tanh v6 return v7 }
        v8: [][]f64 = matmul v2 v0  v9: f64 = sum_all v8
        return v9 }"),
    ("nested independent loops", "fn f0 f (v0: [][]f64, v1: []f64) -> ([][]f64, f64) {
        v2: i64 = dim 0 v0
        v3: [][]f64, v4: f64, v5: i64 = loop for v2 over (v0) out (collect, sum) (v6: i64, v7: []f64) {
            v8: f64 = index v1 [v6]
            v9: []f64, v10: f64, v11: i64 = loop for v2 over (v7, v1) out (collect, sum) (v12: i64, v13: f64, v14: f64) {
                v15: f64 = mul v13 v14  v16: f64 = mul v15 v8  v17: f64 = exp v16  v18: f64 = index v7 [v6]  v19: f64 = mul v17 v18
                return v16, v19 }
            v20: f64 = mul v10 v8
            return v9, v20 }
        return v3, v4 }"),
    ("state that is arrays", "fn f0 f (v0: []f64, v1: [][]f64) -> (f64) {
        v2: i64 = 6
        v3: []f64, v4: f64, v5: i64 = loop for v2 carry (v0) out (sum) (v6: i64, v7: []f64) {
            v8: []f64 = matmul v1 v7  v9: []f64 = tanh v8  v10: f64 = dot v9 v0  v11: i64 = 0  v12: f64 = index v9 [v11]
            v13: []f64 = index_set v9 [v11] v10
            return v13, v12 }
        v14: f64 = sum v3  v15: f64 = mul v14 v4
        return v15 }"),
    ("calls and recursion", "fn f0 step (v0: f64, v1: f64) -> (f64) { v2: f64 = sin v0  v3: f64 = mul v2 v1 return v3 }
        fn f1 power (v0: f64, v1: i64, v2: []f64) -> (f64) {
            v3: i64 = 0  v4: bool = le v1 v3
            v5: f64 = if v4 { v6: f64 = 1.0 return v6 } else {
                v7: i64 = 1  v8: i64 = sub v1 v7  v9: f64 = call f1(v0, v8, v2)  v10: f64 = call f0(v9, v0)
                v11: f64 = index v2 [v1]  v12: f64 = mul v10 v11 return v12 }
            return v5 }
        fn f2 f (v0: f64, v1: []f64) -> (f64) {
            v2: i64 = 4  v3: f64 = call f1(v0, v2, v1)  v4: f64 = call f0(v3, v0) checkpoint  v5: f64 = mul v3 v4
            return v5 }"),
    ("recursion over ranges and lists of indices", "fn f0 minor (v0: [][]f64, v1: i64, v2: []i64) -> (f64) {
            v3: i64 = dim 0 v2  v4: i64 = 1  v5: bool = eq v3 v4  v6: i64 = 0
            v7: f64 = if v5 { v8: i64 = index v2 [v6]  v9: f64 = index v0 [v1, v8] return v9 } else {
                v10: f64, v11: i64 = loop for v3 over (v2) out (sum) (v12: i64, v13: i64) {
                    v14: f64 = index v0 [v1, v13]  v15: i64 = add v1 v4  v16: []i64 = slice v2 v6 v12
                    v17: i64 = add v12 v4  v18: []i64 = slice v2 v17 v3  v19: []i64 = concat v16 v18
                    v20: f64 = call f0(v0, v15, v19)  v21: f64 = mul v14 v20  v22: f64 = tanh v21 return v22 }
                return v10 }
            return v7 }
        fn f1 total (v0: []f64, v1: i64, v2: i64, v3: f64, v4: bool) -> (f64, i64) {
            v5: i64 = sub v2 v1  v6: i64 = 1  v7: bool = le v5 v6
            v8: f64, v9: i64 = if v7 { v10: f64 = index v0 [v1]  v11: f64 = mul v10 v10 return v11, v1 } else {
                v12: i64 = add v1 v2  v13: i64 = 2  v14: i64 = int_div v12 v13  v15: bool = not v4
                v16: i64 = if v4 { return v6 } else { return v13 }
                v17: f64, v18: i64 = call f1(v0, v1, v14, v3, v15)  v19: f64 = sin v17
                v20: f64, v21: i64 = call f1(v0, v14, v2, v19, v4)  v22: f64 = mul v20 v3
                v23: f64 = to_f64 v16  v24: f64 = mul v22 v23  v25: f64 = add v17 v24
                v26: i64 = add v18 v21 return v25, v26 }
            return v8, v9 }
        fn f2 even (v0: f64, v1: i64, v2: []f64) -> (f64) {
            v3: i64 = 0  v4: bool = le v1 v3
            v5: f64 = if v4 { return v0 } else { v6: i64 = 1  v7: i64 = sub v1 v6  v8: f64 = sin v0  v9: f64 = call f3(v8, v7, v2)
                v10: f64 = mul v9 v0 return v10 }
            return v5 }
        fn f3 odd (v0: f64, v1: i64, v2: []f64) -> (f64) {
            v3: i64 = 1  v4: i64 = sub v1 v3  v5: f64 = index v2 [v1]  v6: f64 = mul v0 v5  v7: f64 = call f2(v6, v4, v2) return v7 }
        fn f4 f (v0: [][]f64, v1: []f64, v2: f64) -> (f64) {
            v3: i64 = 0  v4: i64 = 1  v5: i64 = 3  v6: []i64 = array v5 v4 v3  v7: f64 = call f0(v0, v4, v6)
            v8: i64 = dim 0 v1  v9: bool = true  v10: f64, v11: i64 = call f1(v1, v3, v8, v2, v9)  v12: f64 = to_f64 v11
            v13: i64 = 4  v14: f64 = call f2(v2, v13, v1)  v15: f64 = mul v7 v10  v16: f64 = mul v15 v14  v17: f64 = mul v16 v12
            return v17 }"),
    ("data", "data D0 List = Nil | Cons(f64, i64, D0)
        fn f0 make (v0: []f64, v1: i64) -> (D0) {
            v2: i64 = dim 0 v0  v3: bool = ge v1 v2
            v4: D0 = if v3 { v5: D0 = construct D0.0 return v5 } else {
                v6: f64 = index v0 [v1]  v7: i64 = 1  v8: i64 = add v1 v7  v9: D0 = call f0(v0, v8)  v10: D0 = construct D0.1 v6 v1 v9
                return v10 }
            return v4 }
        fn f1 fold (v0: D0, v1: f64) -> (f64) {
            v2: f64 = switch v0 | () { return v1 } | (v3: f64, v4: i64, v5: D0) {
                v6: f64 = to_f64 v4  v7: f64 = mul v3 v1  v8: f64 = add v7 v6  v9: f64 = tanh v8  v10: f64 = call f1(v5, v9)
                v11: f64 = mul v10 v3 return v11 } end
            return v2 }
        fn f2 f (v0: []f64, v1: f64) -> (f64) {
            v2: i64 = 0  v3: D0 = call f0(v0, v2)  v4: f64 = call f1(v3, v1)  v5: f64 = call f1(v3, v4)
            return v5 }"),
    ("reductions by any operator", "fn f0 f (v0: []f64, v1: []i64) -> (f64, []f64, []f64, []f64) {
        v2: f64 = 1.0
        v3: f64 = reduce (v2) over (v0) (v4: f64, v5: f64) { v6: f64 = mul v4 v5  v7: f64 = add v6 v5 return v7 }
        v8: []f64 = scan (v2) over (v0) (v9: f64, v10: f64) { v11: f64 = mul v9 v10  v12: f64 = sin v11 return v12 }
        v13: []f64 = scan_exclusive (v2) over (v0) (v14: f64, v15: f64) { v16: f64 = mul v14 v15 return v16 }
        v17: []f64 = reduce_by_index (v0) neutral (v2) keys v1 values (v8) (v18: f64, v19: f64) { v20: f64 = mul v18 v19 return v20 }
        return v3, v8, v13, v17 }"),
    ("windows and signs", "fn f0 f (v0: []f64, v1: []f64) -> (f64) {
        v2: i64 = dim 0 v0  v3: i64 = 2  v4: i64 = sub v2 v3  v5: i64 = 1  v6: i64 = 0  v7: f64 = 1.0  v8: f64 = -1.0
        v9: f64 = index v1 [v6]  v10: f64 = index v1 [v5]
        v11: f64, v12: i64 = loop for v4 out (sum) (v13: i64) {
            v14: i64 = rem v13 v3  v15: bool = eq v14 v6  v16: f64 = if v15 { return v7 } else { return v8 }
            v17: i64 = add v13 v5  v18: i64 = add v13 v3  v19: f64 = index v0 [v17]  v20: f64 = index v0 [v18]
            v21: f64 = mul v9 v19  v22: f64 = mul v10 v20  v23: f64 = sub v21 v22  v24: f64 = mul v16 v23
            v25: f64 = mul v24 v23 return v25 }
        return v11 }"),
    ("terms at one index, in a branch and beside an index from data", "fn f0 f (v0: []f64, v1: f64, v2: []i64) -> (f64) {
        v3: i64 = dim 0 v0  v4: i64 = 2  v5: f64 = 0.1  v6: bool = gt v1 v5  v7: f64 = 0.0  v8: bool = true
        v9: f64 = if v6 {
            v10: f64, v11: i64 = loop for v3 over (v0) out (sum) (v12: i64, v13: f64) {
                v14: bool = eq v12 v4  v15: f64 = if v14 { v16: f64 = sin v13 return v16 } else { return v7 }
                return v15 }
            return v10 } else { v17: f64 = cos v1 return v17 }
        v18: i64 = 4
        v19: f64, v20: i64 = loop for v3 over (v0, v2) out (sum) (v21: i64, v22: f64, v23: i64) {
            v24: i64 = add v21 v23  v25: bool = eq v21 v4
            v26: bool = if v25 { return v8 } else { v27: bool = eq v24 v18 return v27 }
            v28: f64 = if v26 { v29: f64 = mul v22 v1 return v29 } else { return v7 }
            return v28 }
        v30: f64 = mul v9 v19
        return v30 }"),
    ("the second row of a diagonal matrix and those below it", "fn f0 f (v0: []f64, v1: []f64) -> (f64) {
        v2: i64 = dim 0 v0  v3: f64 = 0.0  v4: i64 = 1  v5: bool = gt v2 v4  v6: str = \"one row\"
        prim assert v5 v6
        v7: [][]f64, v8: i64 = loop for v2 over (v0) out (collect) (v9: i64, v10: f64) {
            v11: []f64, v12: i64 = loop for v2 out (collect) (v13: i64) {
                v14: bool = eq v9 v13  v15: f64 = if v14 { return v10 } else { return v3 }
                return v15 }
            return v11 }
        v16: [][]f64 = slice v7 v4 v2  v17: i64 = sub v2 v4
        v18: f64, v19: i64 = loop for v17 out (sum) (v20: i64) {
            v21: f64, v22: i64 = loop for v2 out (sum) (v23: i64) {
                v24: f64 = index v16 [v20, v23]  v25: f64 = index v1 [v23]  v26: f64 = mul v24 v25  v27: f64 = mul v26 v25
                return v27 }
            return v21 }
        return v18 }"),
    ("products of the elements of a slice in a nest", "fn f0 f (v0: []f64, v1: []f64) -> ([]f64) {
        v2: i64 = dim 0 v0  v3: i64 = dim 0 v1  v4: i64 = 1  v5: i64 = sub v2 v4
        v6: []f64, v7: i64 = loop for v3 over (v1) out (collect) (v8: i64, v9: f64) {
            v10: []f64 = slice v0 v4 v2
            v11: f64, v12: i64 = loop for v5 over (v10) out (sum) (v13: i64, v14: f64) { v15: f64 = mul v14 v9 return v15 }
            return v11 }
        return v6 }"),
];
