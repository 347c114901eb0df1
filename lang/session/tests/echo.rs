//! Values as they are shown: on one line, and laid out for a screen.

use adl_interp::value::{Buf, Record, Value, array};
use adl_session::internals::{LINES, clip, extent};
use adl_session::{Echo, width, wrapped, wrapped_type};
use adl_syntax::symbol::Symbol;
use std::rc::Rc;

fn echo(shown: Value) -> Echo {
    Echo { name: None, called: None, ty: "T".into(), of: None, shown }
}

fn matrix_of(shape: &[usize]) -> Value {
    array::make(shape.iter().copied().collect(), Buf::I64((0..shape.iter().product::<usize>() as i64).collect()))
}

#[test]
fn short_values_stand_on_one_line() {
    assert_eq!(echo(array::ints(vec![1, 2])).screen(80), "[1, 2] : T");
    assert_eq!(echo(Value::Float(1.0)).screen(80), "1.0 : T");
}

#[test]
fn matrices_are_aligned() {
    let m = array::make([2, 2].into_iter().collect(), Buf::F64(vec![1.0, 10.0, 100.5, 2.0]));
    assert_eq!(echo(m).screen(80), ": T\n    1.0  10.0\n  100.5   2.0");
    let m = array::make([2, 2].into_iter().collect(), Buf::F64(vec![1.0 / 3.0, 1e-9, f64::NAN, 2.5e-9]));
    assert_eq!(echo(m).screen(80), ": T, 1e-9 .. 0.333333, 1 nan\n    0.333333  1.0e-9\n  nan         2.5e-9");
}

#[test]
fn nothing_is_wider_than_the_screen_or_longer() {
    let ints = |shape: &[usize]| matrix_of(shape);
    let floats = |shape: &[usize]| {
        array::make(
            shape.iter().copied().collect(),
            Buf::F64((0..shape.iter().product::<usize>()).map(|i| (i as f64).sin() * 1e5).collect()),
        )
    };
    for shape in [&[1000][..], &[100, 100], &[7, 8, 9], &[2, 300], &[300, 2], &[3, 3, 3, 3], &[2, 2, 2, 2, 40]] {
        for (width, v) in [20, 40, 80, 200].into_iter().flat_map(|w| [(w, ints(shape)), (w, floats(shape))]) {
            let text = echo(v).screen(width);
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines.len() <= LINES + 2, "{shape:?} {width}: {text}");
            assert!(lines.iter().all(|l| l.chars().count() <= width.max(24)), "{shape:?} {width}: {text}");
        }
    }
}

#[test]
fn long_vectors_show_their_ends() {
    assert_eq!(echo(array::ints((0..2000).collect())).line(), "[0, 1, 2, …, 1997, 1998, 1999] : T, 0 .. 1999");
    let screen = echo(array::ints((0..2000).collect())).screen(80);
    assert!(screen.contains("[0]") && screen.contains("1999") && screen.contains('…'), "{screen}");
}

#[test]
fn numbers_inside_data_have_six_digits_and_those_alone_all() {
    let third = 1.0 / 3.0;
    assert_eq!(echo(array::floats(vec![third, 2e-7 / 3.0])).line(), "[0.333333, 6.66667e-8] : T");
    assert_eq!(echo(Value::Float(third)).screen(80), "0.3333333333333333 : T");
    assert_eq!(echo(array::floats(vec![third])).whole(), "[0.3333333333333333] : T");
}

#[test]
fn definitions_of_much_take_a_line() {
    let e = Echo { name: Some("xs".into()), ..echo(array::floats((0..1000).map(f64::from).collect())) };
    assert_eq!(e.screen(80), "xs = [0.0, 1.0, 2.0, …, 997.0, 998.0, 999.0] : T, 0.0 .. 999.0");
    assert_eq!(e.screen(50), "xs = [0.0, 1.0, …, 998.0, 999.0] : T, 0.0 .. 999.0");
}

#[test]
fn tables_name_the_columns_that_do_not_fit() {
    let names: Rc<[_]> = ["a", "bb", "ccc", "dddd"].iter().map(|n| Symbol::new(n)).collect();
    let vals = (0..4).map(|i| array::floats(vec![f64::from(i), 1e5 + 0.5])).collect();
    let text = echo(Value::Record(Rc::new(Record { names, vals }))).screen(36);
    assert_eq!(
        text,
        ": T\n         a        bb  …      dddd\n       0.0       1.0  …       3.0\n  100000.5  100000.5  …  100000.5\n  … 1 column more: ccc"
    );
}

#[test]
fn extents_count_what_is_no_number() {
    let of = |v: Value| if let Value::Array(a) = v { extent(&a) } else { None };
    assert_eq!(
        of(array::floats(vec![1.0, f64::NAN, -2.5, f64::INFINITY, f64::NAN])).as_deref(),
        Some("-2.5 .. 1.0, 2 nan, 1 inf")
    );
    assert_eq!(of(array::floats(vec![f64::NAN])).as_deref(), Some("1 nan"));
    assert_eq!(of(array::ints(vec![3, -1])).as_deref(), Some("-1 .. 3"));
    assert_eq!(of(array::ints(vec![])), None);
}

#[test]
fn lines_break_between_words() {
    assert_eq!(wrapped("one two three four", 9, 2), ["one two", "  three", "  four"]);
    assert_eq!(wrapped_type("{a : Int, b : Int} -> Int", 14, 2), ["{a : Int,", "  b : Int} ->", "  Int"]);
    assert_eq!(wrapped("  a b", 80, 2), ["  a b"]);
    assert_eq!(wrapped("a\n\nb", 80, 0), ["a", "", "b"]);
    assert_eq!(wrapped("abcdefghij", 4, 0), ["abcd", "efgh", "ij"]);
    assert!(wrapped("日本語 のテキスト と", 10, 0).iter().all(|l| width(l) <= 10));
}

#[test]
fn clipped_texts_fit() {
    for (text, columns, want) in [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("日本語", 5, "日本…"), ("日本語", 4, "日…")]
    {
        assert_eq!(clip(text, columns), want);
    }
}
