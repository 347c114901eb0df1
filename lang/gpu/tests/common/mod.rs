//! A device for tests. Without an adapter, Mesa's software adapter is installed; if this fails, so do the tests.
#![allow(dead_code)]

pub mod values;

use adl_gpu::Gpu;
use std::process::Command;
use std::sync::Once;

/// The first adapter, or the one that `ADL_GPU` selects.
pub fn gpu() -> Gpu {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        if adl_gpu::names().is_empty() {
            install(&["mesa-vulkan-drivers", "libvulkan1"]);
        }
    });
    let pick = std::env::var("ADL_GPU").ok();
    Gpu::open(pick.as_deref()).unwrap_or_else(|e| {
        panic!("{e}; the tests of `lang/gpu` need an adapter: `apt-get install mesa-vulkan-drivers libvulkan1` has one")
    })
}

/// Installs Debian packages.
fn install(packages: &[&str]) {
    let get = format!("apt-get install -y --no-install-recommends {}", packages.join(" "));
    let out = Command::new("sh").args(["-c", &format!("({get} || (apt-get update && {get})) 2>&1")]).output();
    let text = out.map_or_else(
        |e| e.to_string(),
        |o| if o.status.success() { String::new() } else { String::from_utf8_lossy(&o.stdout).into_owned() },
    );
    if let Some(gist) = text.lines().rev().find(|l| !l.trim().is_empty()) {
        panic!("the tests of `lang/gpu` need {}, which apt-get could not install: {gist}", packages.join(" and "));
    }
}

/// The array lengths that tests use.
pub const SIZES: [usize; 7] = [0, 1, 31, 32, 33, 1000, 100_000];

/// The arguments of a program's first function, as a kernel environment.
pub fn env<'a>(
    p: &'a adl_ir::Program,
    args: &'a [adl_gpu::Operand],
) -> impl Fn(adl_ir::Var) -> Option<adl_gpu::Operand> + 'a {
    let params = p.funcs[0].body.params.clone();
    move |v| params.iter().position(|p| *p == v).and_then(|i| args.get(i).cloned())
}

/// Runs the first statement of the first function on the device.
pub fn run(gpu: &Gpu, p: &adl_ir::Program, args: &[adl_gpu::Operand]) -> adl_gpu::Res<Vec<adl_gpu::Data>> {
    let f = &p.funcs[0];
    let env = env(p, args);
    let arrays = match &f.body.stmts[0].op {
        adl_ir::Op::Loop(l) => adl_gpu::nest::run(gpu, p, f, l, &env)?,
        adl_ir::Op::Soac(s) => adl_gpu::soac::run(gpu, p, f, s, &env)?,
        other => panic!("no kernels for {other:?}"),
    };
    arrays.iter().map(|a| gpu.read(a)).collect()
}

/// Parses and verifies a program.
pub fn program(text: &str) -> adl_ir::Program {
    let p = adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    p.funcs.iter().for_each(|f| adl_ir::verify(&p, f).unwrap_or_else(|e| panic!("{e:?}\n{text}")));
    p
}

pub fn int(n: usize) -> adl_gpu::Operand {
    adl_gpu::Operand::Number(adl_ir::Lit::I64(n as i64))
}

/// Uploads a vector.
pub fn vector(gpu: &Gpu, d: &adl_gpu::Data) -> adl_gpu::Operand {
    adl_gpu::Operand::Array(gpu.array(d, vec![d.len()]).unwrap())
}

/// Whether data are equal bit for bit; all NaNs are considered equal.
pub fn same(a: &adl_gpu::Data, b: &adl_gpu::Data) -> bool {
    use adl_gpu::Data;
    match (a, b) {
        (Data::F64(x), Data::F64(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan())
        }
        (Data::F32(x), Data::F32(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan())
        }
        _ => a == b,
    }
}

/// The number of random programs: the default, or a larger value of `ADL_PROGRAMS`.
pub fn programs(usual: u64) -> u64 {
    std::env::var("ADL_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual).max(usual)
}
