//! WGSL on its way to the driver: exact arithmetic, and what is refused.

use adl_gpu::internals::{ARITHMETIC, DECORATE, NO_CONTRACTION, instructions, spirv};

fn text(body: &str) -> String {
    format!(
        "@group(0) @binding(0) var<storage, read_write> a: array<f64>;\n@compute @workgroup_size(1) fn main() {{ {body} }}"
    )
}

#[test]
fn every_operation_on_floats_is_decorated() {
    let words = spirv(&text("a[0] = -(a[1] + a[2] * a[3]) / a[4] - a[5];")).unwrap();
    let count = |wanted: &[u32]| instructions(&words).filter(|(_, op, _)| wanted.contains(op)).count();
    assert_eq!(count(&ARITHMETIC), 5);
    let marks = instructions(&words).filter(|(at, op, _)| *op == DECORATE && words[at + 2] == NO_CONTRACTION).count();
    assert_eq!(marks, 5);
}

#[test]
fn bools_in_work_group_memory_are_refused() {
    let e = spirv(&format!("var<workgroup> s: array<bool, 4>;\n{}", text("s[0] = a[1] > a[2];")));
    assert!(e.unwrap_err().to_string().contains("which drivers may pack"));
}

#[test]
fn built_in_functions_of_f64_are_refused() {
    for f in ["exp(a[1])", "sqrt(a[1])", "floor(a[1])", "min(a[1], a[2])", "abs(a[1])", "fma(a[1], a[2], a[3])"] {
        let e = spirv(&text(&format!("a[0] = {f};"))).unwrap_err().to_string();
        assert!(e.contains("not one of ours"), "{e}");
    }
    assert!(spirv(&text("a[0] = f64(sqrt(f32(a[1]))) + a[2];")).is_ok());
}
