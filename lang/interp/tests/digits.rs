//! Numbers as text with few digits, and columns of them.

use adl_interp::value::digits::{column, rounded_to};

#[test]
fn six_digits() {
    for (number, want) in [
        (1.0 / 7.0, "0.142857"),
        (-0.00046008202545532996, "-0.000460082"),
        (1.0, "1.0"),
        (0.1 + 0.2, "0.3"),
        (1e10, "1e10"),
        (123_456.789, "123456.8"),
        (1_234_567.0, "1234567.0"),
        (12_345_678_901.0, "1.23457e10"),
        (1.5e-7, "1.5e-7"),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (f64::NAN, "nan"),
        (f64::NEG_INFINITY, "-inf"),
        (f64::MAX, "1.79769e308"),
        (f64::from_bits(1), "4.94066e-324"),
    ] {
        assert_eq!(rounded_to(number, 6), want);
    }
    assert_eq!(rounded_to(1.0 / 7.0, 17), "0.14285714285714285");
    assert_eq!(rounded_to(9.9999999, 3), "10.0");
}

#[test]
fn columns_are_aligned_at_the_point() {
    assert_eq!(column(&[1.0, 10.25, -3.5]), [" 1.0 ", "10.25", "-3.5 "]);
    assert_eq!(column(&[1.0, f64::NAN, f64::INFINITY]), ["  1.0", "nan  ", "inf  "]);
    assert_eq!(column(&[0.0, 0.0]), ["0.0", "0.0"]);
    assert_eq!(column(&[]), Vec::<String>::new());
}

#[test]
fn a_common_exponent_where_it_is_shorter() {
    assert_eq!(column(&[1.5e-7, 2e-8]), ["1.5e-7", "0.2e-7"]);
    assert_eq!(column(&[1.5e12, 2e12, 0.0]), ["1.5e12", "2.0e12", "0.0   "]);
    assert_eq!(column(&[1e300, 1e-300]), ["1.0e300 ", "1.0e-300"]);
    assert_eq!(column(&[0.5, 1.23457e-12]), ["5.0e-1     ", "1.23457e-12"]);
    assert_eq!(column(&[100.0, 0.001]), ["100.0  ", "  0.001"]);
    assert_eq!(column(&[0.0, 100_000.5]), ["     0.0", "100000.5"]);
}
