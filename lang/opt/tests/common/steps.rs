//! Each pass, and the pipelines that run on whole functions.

use adl_opt::PipelineStep::{self, All, Run};
use adl_opt::pipelines;

/// The passes and pipelines by name. The pass left out makes what only a device understands.
pub fn all() -> Vec<(String, Vec<PipelineStep>)> {
    let passes = pipelines::PASSES.iter().copied().filter(|pass| pass.name != pipelines::DEVICE_VECTORS.name);
    let single = passes.map(|pass| (pass.name.to_owned(), vec![Run(pass)]));
    let pipelines = [
        ("FUNCTION", vec![All(pipelines::FUNCTION)]),
        ("PLAIN", vec![All(pipelines::PLAIN), All(pipelines::SUM_ORDER)]),
        ("FINISH", vec![All(pipelines::INLINED), All(pipelines::FINISH)]),
        (
            "NATIVE",
            vec![All(pipelines::FINISH), All(pipelines::POINTWISE), All(pipelines::NATIVE), All(pipelines::COMPILED)],
        ),
        ("SMALL", vec![All(pipelines::FINISH), All(pipelines::SMALL)]),
        ("FOR_DEVICE", vec![All(pipelines::INLINED), All(pipelines::FOR_DEVICE)]),
    ];
    single.chain(pipelines.map(|(name, steps)| (name.to_owned(), steps))).collect()
}
