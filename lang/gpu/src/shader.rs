//! Passes WGSL to the driver.
//!
//! WGSL allows a compiler to contract and reorder floating-point arithmetic, and drivers do: Mesa simplifies `(a + b) -
//! a` to `b` and `x * 0` to `0`, which breaks every function that tracks a rounding error, and hides NaN. Vulkan's
//! `NoContraction` decoration forbids this, but WGSL cannot express it. On Vulkan this module therefore generates
//! SPIR-V itself and decorates every arithmetic instruction. On other systems the driver gets the WGSL text, and
//! results may differ in their last digits.
//!
//! A driver may also flush subnormal f32 numbers to zero (NVIDIA's does), and the text cannot forbid that either.
//!
//! Generated kernels check their indices, or know them to be in bounds, so that nothing is checked again here.

use crate::error::{Error, Res};
use naga::back::spv;

/// The opcode of a decoration.
pub const DECORATE: u32 = 71;
/// The decoration of exact arithmetic.
pub const NO_CONTRACTION: u32 = 42;

/// The opcodes of instructions to decorate: negation, addition, subtraction, multiplication, division, remainders, and
/// vector times scalar.
pub const ARITHMETIC: [u32; 8] = [127, 129, 131, 133, 136, 140, 141, 142];

/// Validates the text and generates SPIR-V with exact arithmetic.
///
/// # Errors
/// The text is not valid, or has what drivers compute wrongly.
pub fn spirv(text: &str) -> Res<Vec<u32>> {
    let refused = |why: String| Error::Refused(format!("{why}\n{}", numbered(text)));
    let module = naga::front::wgsl::parse_str(text).map_err(|e| refused(e.emit_to_string(text)))?;
    let caps = naga::valid::Capabilities::FLOAT64
        | naga::valid::Capabilities::SHADER_INT64
        | naga::valid::Capabilities::SUBGROUP;
    let info = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), caps)
        .validate(&module)
        .map_err(|e| refused(e.emit_to_string(text)))?;
    if let Some(name) = forbidden(&module, &info) {
        return Err(refused(format!("`{name}` of a 64-bit float is not one of ours")));
    }
    if let Some(name) = shared_bools(&module) {
        return Err(refused(format!("`{name}` has Bools in work-group memory, which drivers may pack")));
    }
    let options = spv::Options {
        lang_version: (1, 3),
        flags: spv::WriterFlags::empty(),
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: false,
        bounds_check_policies: naga::proc::BoundsCheckPolicies::default(),
        ..spv::Options::default()
    };
    let entry = spv::PipelineOptions { shader_stage: naga::ShaderStage::Compute, entry_point: "main".to_owned() };
    let words = spv::write_vec(&module, &info, &options, Some(&entry)).map_err(|e| refused(e.to_string()))?;
    Ok(exact(&words))
}

/// A built-in f64 function that a module calls, if any: drivers lack them or compute them wrongly.
fn forbidden(module: &naga::Module, info: &naga::valid::ModuleInfo) -> Option<String> {
    let own = module.functions.iter().map(|(h, f)| (f, &info[h]));
    let entries = module.entry_points.iter().enumerate().map(|(i, e)| (&e.function, info.get_entry_point(i)));
    own.chain(entries).find_map(|(f, types)| {
        f.expressions.iter().find_map(|(_, e)| match e {
            naga::Expression::Math { fun, arg, .. } => {
                let s = types[*arg].ty.inner_with(&module.types).scalar()?;
                (s.kind == naga::ScalarKind::Float && s.width == 8).then(|| format!("{fun:?}"))
            }
            _ => None,
        })
    })
}

/// An array of Bools in work-group memory, if there is any: see `fold::held`.
fn shared_bools(module: &naga::Module) -> Option<String> {
    module.global_variables.iter().find_map(|(_, v)| {
        let naga::TypeInner::Array { base, .. } = module.types[v.ty].inner else { return None };
        let bools = module.types[base].inner.scalar().is_some_and(|s| s.kind == naga::ScalarKind::Bool);
        (v.space == naga::AddressSpace::WorkGroup && bools).then(|| v.name.clone().unwrap_or_default())
    })
}

fn numbered(text: &str) -> String {
    text.lines().enumerate().map(|(i, l)| format!("{:4} {l}\n", i + 1)).collect()
}

/// The instructions of a module: word offset, opcode, and length in words.
pub fn instructions(words: &[u32]) -> impl Iterator<Item = (usize, u32, usize)> + '_ {
    let mut at = 5;
    std::iter::from_fn(move || {
        let first = *words.get(at)?;
        let (begin, length) = (at, (first >> 16).max(1) as usize);
        at += length;
        Some((begin, first & 0xffff, length))
    })
}

/// Decorates every arithmetic result of a module.
fn exact(words: &[u32]) -> Vec<u32> {
    let results: Vec<u32> = instructions(words)
        .filter(|(_, op, _)| ARITHMETIC.contains(op))
        .filter_map(|(at, ..)| words.get(at + 2).copied())
        .collect();
    // Decorations precede the first type; there may be others already.
    let at = instructions(words)
        .find(|(_, op, _)| matches!(*op, 19..=39 | DECORATE | 72))
        .map_or(words.len(), |(at, ..)| at);
    let mut out = words[..at].to_vec();
    out.extend(results.iter().flat_map(|id| [(3 << 16) | DECORATE, *id, NO_CONTRACTION]));
    out.extend_from_slice(&words[at..]);
    out
}

/// A shader module of the device.
#[allow(unsafe_code)]
pub(crate) fn module(device: &wgpu::Device, text: &str, passthrough: bool) -> Res<wgpu::ShaderModule> {
    if !passthrough {
        return Ok(device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(text.into()),
        }));
    }
    let words = spirv(text)?;
    let entry = wgpu::PassthroughShaderEntryPoint { name: "main".into(), workgroup_size: (1, 1, 1) };
    let desc = wgpu::ShaderModuleDescriptorPassthrough {
        label: None,
        entry_points: vec![entry].into(),
        spirv: Some(words.into()),
        ..Default::default()
    };
    // SAFETY: the words are a module that the validator accepts, with added decorations that only restrict the
    // compiler. The generated kernels access their bindings within bounds only.
    Ok(unsafe { device.create_shader_module_passthrough(desc) })
}
