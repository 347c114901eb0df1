//! Memory, batches, faults and loss of a device.

use crate::common;

use adl_gpu::internals::{opened, sealed};
use adl_gpu::{Array, BoundArray, Check, Data, Error, FailedCheck, Gpu, Kernel};

const ADD_ONE: &str = "
@group(0) @binding(0) var<storage, read> params: array<u32>;
@group(0) @binding(1) var<storage, read_write> faults: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read> a: array<u32>;
@group(0) @binding(3) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) w: vec3<u32>, @builtin(num_workgroups) all: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let i = (w.x + w.y * all.x) * 64u + l;
  if i < params[2] { b[i] = a[i] + 1u; if a[i] == 77777u { atomicMax(&faults[0], params[1]); } }
}";

fn words(ws: impl Iterator<Item = u32>) -> Vec<u8> {
    ws.flat_map(u32::to_le_bytes).collect()
}

fn add_one() -> Kernel {
    Kernel {
        text: ADD_ONE.to_owned(),
        writes: vec![false, true],
        faults: vec![FailedCheck { what: Check::Bounds, span: Default::default() }],
    }
}

fn plus(gpu: &Gpu, k: &Kernel, from: &adl_gpu::Buffer, n: u32) -> adl_gpu::Buffer {
    let bytes = 4 * u64::from(n);
    let to = gpu.alloc(bytes).unwrap();
    gpu.launch(k, &[BoundArray::first(from, bytes), BoundArray::first(&to, bytes)], &[n], n.div_ceil(64)).unwrap();
    to
}

#[test]
fn many_kernels_go_in_one_batch_and_share_memory() {
    let gpu = common::gpu();
    let (k, n) = (add_one(), 100_000);
    let mut x = gpu.upload(&words(100_000..100_000 + n)).unwrap();
    for _ in 0..50 {
        x = plus(&gpu, &k, &x, n);
    }
    let got = gpu.download(&x, 4 * u64::from(n)).unwrap();
    assert_eq!(got, words((0..n).map(|i| i + 100_050)));
    assert_eq!((gpu.work().kernels, gpu.work().submits, gpu.work().compiled), (50, 1, 1));
    let m = gpu.memory();
    assert!(m.made <= 4 && m.wanted >= 51, "{m:?}");
    assert!(m.used > 0 && m.peak < 3 * 500_000, "{m:?}");
    drop(x);
    assert_eq!(gpu.memory().used, 0);
}

#[test]
fn what_the_host_writes_does_not_reach_kernels_that_wait() {
    let gpu = common::gpu();
    let k = add_one();
    let x = gpu.upload(&words(0..1000)).unwrap();
    let y = plus(&gpu, &k, &x, 1000);
    drop(x);
    // The same memory is reused before the kernel that reads it has run.
    let z = gpu.upload(&words(5000..6000)).unwrap();
    assert_eq!(gpu.download(&y, 4000).unwrap(), words(1..1001));
    assert_eq!(gpu.download(&z, 4000).unwrap(), words(5000..6000));
}

#[test]
fn a_failed_check_is_told_once_with_the_next_result() {
    let gpu = common::gpu();
    let k = add_one();
    let x = gpu.upload(&words(77_770..77_780)).unwrap();
    let fine = gpu.upload(&words(0..10)).unwrap();
    let (y, z) = (plus(&gpu, &k, &x, 10), plus(&gpu, &k, &fine, 10));
    assert_eq!(gpu.download(&y, 40), Err(Error::Fault(FailedCheck { what: Check::Bounds, span: Default::default() })));
    assert_eq!(gpu.download(&z, 40).unwrap(), words(1..11));
}

#[test]
fn what_does_not_fit_is_an_error_and_the_device_goes_on() {
    let gpu = common::gpu();
    let e = gpu.alloc(1 << 60).unwrap_err();
    assert!(matches!(e, Error::Memory(_)) && e.to_string().contains("memory is full"), "{e}");
    let bad = Kernel { text: "fn main() { let x = 1u + 1.0; }".to_owned(), ..Kernel::default() };
    assert!(matches!(gpu.launch(&bad, &[], &[], 1), Err(Error::Refused(_))));
    let x = gpu.upload(&words(0..10)).unwrap();
    assert_eq!(gpu.download(&x, 40).unwrap(), words(0..10));
    assert_eq!(gpu.download(&x, 0).unwrap(), Vec::<u8>::new());
}

#[test]
fn a_lost_device_says_so_and_another_can_be_opened() {
    let gpu = common::gpu();
    let x = gpu.upload(&words(0..10)).unwrap();
    gpu.close();
    assert!(matches!(gpu.download(&x, 40), Err(Error::Lost(_))));
    assert!(matches!(gpu.upload(&words(0..10)), Err(Error::Lost(_))));
    let again = common::gpu();
    let y = again.upload(&words(0..10)).unwrap();
    assert_eq!(again.download(&y, 40).unwrap(), words(0..10));
}

#[test]
fn adapters_are_chosen_by_number_or_part_of_their_name() {
    let first = common::gpu().caps.name;
    let names = adl_gpu::names();
    let at = names.iter().position(|n| *n == first).unwrap();
    assert_eq!(Gpu::open(Some(&at.to_string())).unwrap().caps.name, first);
    assert_eq!(Gpu::open(Some(&first.to_uppercase())).unwrap().caps.name, first);
    let e = Gpu::open(Some("no such thing")).unwrap_err().to_string();
    assert!(e.contains("no such thing") && e.contains(&first), "{e}");
}

#[test]
fn compiled_pipelines_are_kept_as_bytes() {
    let gpu = common::gpu();
    let run = |gpu: &Gpu| {
        let x = gpu.upload(&words(0..100)).unwrap();
        let y = plus(gpu, &add_one(), &x, 100);
        assert_eq!(gpu.download(&y, 400).unwrap(), words(1..101));
    };
    run(&gpu);
    let Some(blob) = gpu.cache_blob() else { return };
    let pick = std::env::var("ADL_GPU").ok();
    let damaged: Vec<u8> = blob.iter().map(|b| b ^ 1).collect();
    for bytes in [&blob, &damaged, &Vec::new()] {
        let again = Gpu::open_with_cache(pick.as_deref(), Some(bytes)).unwrap();
        run(&again);
        assert!(again.cache_blob().is_some());
    }
}

#[test]
fn large_buffers_are_copied_whole() {
    let gpu = common::gpu().with_tiles(true);
    // Not a multiple of the words that a thread copies.
    let words: Vec<u32> = (0..300_003u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let a = gpu.array(&Data::Word(words.clone()), vec![words.len()]).unwrap();
    let buffer = gpu.copy(&a.buffer, a.bytes()).unwrap();
    let Data::Word(copied) = gpu.read(&Array { buffer, ..a }).unwrap() else { panic!("not words") };
    assert_eq!(copied, words);
}

#[test]
fn bytes_that_were_changed_are_not_taken() {
    let blob = sealed(&[1, 2, 3]);
    assert_eq!(opened(&blob), Some([1, 2, 3].as_slice()));
    for i in 0..blob.len() {
        let mut bad = blob.clone();
        bad[i] ^= 4;
        assert_eq!(opened(&bad), None);
        assert_eq!(opened(&blob[..i]), None);
    }
}
