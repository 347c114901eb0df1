//! What is out of bounds is the same error in every way of running.

use adl_tests::{echo_in, session};

const LONGER: &str =
    "let two : [_]Float = filter (fun v -> v > 0.0) [1.0, 2.0]\nlet rows : [_][_]Float = map (fun v -> two * v) two";

/// Programs, and the index that is out of bounds with the length of what it is out of; none where nothing is.
const CASES: &[(&str, Option<(i64, usize)>)] = &[
    ("scatter [1.0, 2.0] [2] [3.0]", Some((2, 2))),
    ("scatter [1.0, 2.0] [0, -1] [3.0, 4.0]", Some((-1, 2))),
    ("scatter [{a = 1, b = 2.0}] [1] [{a = 2, b = 3.0}]", Some((1, 1))),
    ("scatter rows [2] [two]", Some((2, 2))),
    ("scatter ([] : [0]Float) [0] [1.0]", Some((0, 0))),
    ("map (fun i -> (scatter two [i] [3.0])[0]) (iota 20)", Some((2, 2))),
    ("for i < 20 -> (scatter [1.0, 2.0, 3.0] [i] [3.0])[1]", Some((3, 3))),
    ("loop a = replicate 100 0.0 for i < 5000 do scatter a [i] [1.0]", Some((100, 100))),
    ("grad (fun x -> sum (scatter x [5] [x[0]])) two", Some((5, 2))),
    ("value_and_grad (fun x -> sum (scatter x [-2] [x[0] * x[1]])) two", Some((-2, 2))),
    ("jvp (fun x -> scatter x [5] [x[0]]) two two", Some((5, 2))),
    ("let (y, back) = vjp (fun x -> scatter x [2] [x[0]]) two\nback y", Some((2, 2))),
    ("jacobian (fun x -> scatter x [3] [x[0]]) two", Some((3, 2))),
    ("hessian (fun x -> dot x (scatter x [3] [x[0]])) two", Some((3, 2))),
    ("grad (fun x -> sum (loop a = replicate 3 x for i < 5 do scatter a [i] [x * x])) 2.0", Some((3, 3))),
    ("(lin ((d, v) : ([_]Float, [_]Float)) -> scatter d [2] v) (two, [3.0])", Some((2, 2))),
    ("transpose_at (two, [3.0]) (lin ((d, v) : ([_]Float, [_]Float)) -> scatter d [2] v) two", Some((2, 2))),
    ("scatter_within [1.0, 2.0] [2, 1, -1] [3.0, 4.0, 5.0]", None),
    ("grad (fun x -> sum (scatter_within x [5, 0] [x[0], x[1] * x[1]])) two", None),
    ("map (fun i -> (scatter_within two [i] [3.0])[0]) (iota 20)", None),
];

#[test]
fn indices_of_scatter() {
    let mut wrong = Vec::new();
    for (main, jit) in [(true, true), (true, false), (false, true)] {
        let (mut s, _) = session();
        s.set_compiled_ad(main);
        s.set_jit(jit);
        echo_in(&mut s, LONGER);
        for (text, out) in CASES {
            let have = echo_in(&mut s, text);
            let fits = match out {
                Some((i, n)) => {
                    have.starts_with(&format!("E0701: index {i} is out of bounds for an array of length {n}"))
                }
                None => !have.starts_with('E'),
            };
            if !fits {
                wrong.push(format!("compiled {main}, native {jit}: {text}\n    {have}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn literals_from_the_end_are_named_as_they_stand() {
    let (mut session, _) = session();
    echo_in(&mut session, LONGER);
    for (text, want) in [
        ("let g v = v[-3]\ng two", "index -3 is out of bounds for an array of length 2"),
        ("let g (m : [n][k]Float) = m[0, -4]\ng rows", "index -4 is out of bounds for an array of length 2"),
        ("let g (v : [n]Float) = v[-3:]\ng two", "the bound -3 is out of bounds for an axis of length 2"),
        ("let g v = {v with [-3] = 0.0}\ng two", "index -3 is out of bounds for an array of length 2"),
        ("grad (fun (v : []Float) -> v[-5]) two", "index -5 is out of bounds for an array of length 2"),
        ("map (fun (v : []Float) -> v[-5]) rows", "index -5 is out of bounds for an array of length 2"),
        ("let k = -3\ntwo[k]", "index -3 is out of bounds for an array of length 2"),
        ("two[len two - 3]", "index -1 is out of bounds for an array of length 2"),
    ] {
        assert_eq!(echo_in(&mut session, text), format!("E0701: {want}"), "{text}");
    }
}
