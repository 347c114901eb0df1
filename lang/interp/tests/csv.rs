//! CSV files that all threads read: parts of lines, cells, and what counts as a number.

use adl_interp::internals::csv::{NumberColumn, PART, Visit, cells, digits, lines, ordinary_number, split};

#[test]
fn parts_are_whole_lines() {
    let line = "0.125,-3\r\n";
    let text = line.repeat(3 * PART / line.len());
    let parts = split(&text);
    assert!(parts.len() > 2 && parts.concat() == text);
    assert!(parts.iter().all(|p| p.ends_with("\r\n")));
}

#[test]
fn rows_of_another_width_are_left_to_the_other_reader() {
    struct SeenFile(Vec<(usize, String)>);
    impl Visit for SeenFile {
        fn cell(&mut self, _: usize, column: usize, cell: &str) -> Option<()> {
            self.0.push((column, cell.to_owned()));
            Some(())
        }
    }
    let read = |text: &str| {
        let mut seen = SeenFile(Vec::new());
        cells(text, b',', 2, &mut seen).map(|()| seen.0)
    };
    let pair = |a: &str, b: &str| vec![(0, a.to_owned()), (1, b.to_owned())];
    assert_eq!(read("1, x\n\n  \n"), Some(pair("1", "x")));
    assert_eq!(read(",\n"), Some(pair("", "")));
    assert_eq!((read("1\n"), read("1,2,3\n"), read("1,2\r3,4\n")), (None, None, None));
    assert_eq!((read("1,2\n3"), read("1,2,\n"), read("1,2\n3,4\r\n\r\n").map(|c| c.len())), (None, None, Some(4)));
}

#[test]
fn empty_lines_leave_no_gaps() {
    let mut column = NumberColumn::Int(vec![1, 2, 0, 3, 0, 4]);
    column.close(&[3, 2, 1], &[2, 1, 1]);
    assert!(matches!(column, NumberColumn::Int(v) if v == [1, 2, 3, 4]));
    assert_eq!((lines(""), lines("a"), lines("a\n"), lines(&"\n".repeat(1_000))), (0, 1, 1, 1_000));
}

#[test]
fn ordinary_numbers_are_numbers() {
    let ints = ["0", "-12", "123456789", "123456789012345678"];
    let floats = ["1.", "-0.5", "12345678.123456789", "1.5e10", "1.0E-300", "2.5e+3"];
    let others = ["", "-", "1.5e", "1.5e+", ".5", "+1", "1234567890123456789"];
    // The beginning is a number.
    let more = ["1e5", "1.2.3", "12345678x", "1.5 ", "0x10", "1,2"];
    let is = |c: &str| ordinary_number(c.as_bytes());
    assert!(ints.iter().all(|c| is(c) == Some((c.len(), true)) && c.parse::<i64>().is_ok()));
    assert!(floats.iter().all(|c| is(c) == Some((c.len(), false)) && c.parse::<f64>().is_ok()));
    assert!(others.iter().all(|c| is(c).is_none()));
    assert!(more.iter().all(|c| is(c).is_some_and(|(n, _)| n < c.len() && c[..n].parse::<f64>().is_ok())));
}

#[test]
fn digits_are_counted() {
    for n in 0..20 {
        for end in ["", ",", "x1234567", "\u{e9}12345678", "/", ":", "\u{0}9"] {
            let text = "1234567890".repeat(2)[..n].to_owned() + end;
            assert_eq!(digits(text.as_bytes()), n, "{text:?}");
        }
    }
}
