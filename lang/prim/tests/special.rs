//! Special functions at arguments with published values.

use adl_prim::special::{digamma, erfinv, polygamma};
use std::f64::consts::PI;

#[test]
fn published_values() {
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} {b}");
    close(digamma(1.0), -0.577_215_664_901_532_9);
    close(digamma(0.5), -1.963_510_026_021_423_5);
    close(digamma(1.4616588071211893) / 2.5799910552241437e-05, 1.0);
    close(digamma(12.5), 2.485195651274912);
    close(digamma(-0.5), 0.036_489_973_978_576_52);
    close(polygamma(1, 1.0), PI * PI / 6.0);
    close(polygamma(1, 0.5), PI * PI / 2.0);
    close(polygamma(2, 1.0), -2.404_113_806_319_188_6);
    close(polygamma(3, 1.0), PI.powi(4) / 15.0);
    close(polygamma(1, -0.5), 8.934_802_200_544_679);
    close(erfinv(0.5), 0.476_936_276_204_469_9);
    close(erfinv(-0.9), -1.163_087_153_676_674);
    close(erfinv(1.0 - f64::EPSILON / 2.0), 5.863_584_748_755_167_6);
}

#[test]
fn the_inverse_of_erf_has_its_ends() {
    assert_eq!(erfinv(1.0), f64::INFINITY);
    assert_eq!(erfinv(-1.0), f64::NEG_INFINITY);
    assert!(erfinv(1.0 + f64::EPSILON).is_nan() && erfinv(f64::NAN).is_nan());
    assert!(erfinv(-0.0) == 0.0 && erfinv(-0.0).is_sign_negative());
}
