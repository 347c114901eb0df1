//! Compiled pipelines as bytes, which the caller may store between runs: compilation dominates the first call.

use crate::queue::Gpu;

/// The magic number, whose last digit is the version of the format.
const MAGIC: &[u8; 8] = b"adl gpu1";

/// The size of the header before the driver's bytes.
const HEAD: usize = 16;

/// A checksum (FNV-1a) that detects damaged bytes.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}

/// The driver's bytes behind magic number and checksum.
pub fn sealed(data: &[u8]) -> Vec<u8> {
    [MAGIC.as_slice(), &sum(data).to_le_bytes(), data].concat()
}

/// The driver's bytes, if magic number and checksum are right.
pub fn opened(blob: &[u8]) -> Option<&[u8]> {
    let (head, data) = blob.split_at_checked(HEAD)?;
    (head == [MAGIC.as_slice(), &sum(data).to_le_bytes()].concat()).then_some(data)
}

/// The pipeline cache of a device, initialised from a blob if it is valid and from this device. `None` if the device
/// has no pipeline cache.
#[allow(unsafe_code)]
pub(crate) fn make(device: &wgpu::Device, blob: Option<&[u8]>) -> Option<wgpu::PipelineCache> {
    if !device.features().contains(wgpu::Features::PIPELINE_CACHE) {
        return None;
    }
    let desc = wgpu::PipelineCacheDescriptor { label: None, data: blob.and_then(opened), fallback: true };
    // SAFETY: the checksum says that the bytes are those that `cache_blob` wrote; wgpu itself rejects those of another
    // adapter or driver.
    Some(unsafe { device.create_pipeline_cache(&desc) })
}

impl Gpu {
    /// The driver's compiled pipelines, for [`Gpu::open_with_cache`] in a later run. `None` if the driver does not
    /// expose them.
    pub fn cache_blob(&self) -> Option<Vec<u8>> {
        self.cache().and_then(wgpu::PipelineCache::get_data).map(|d| sealed(&d))
    }
}
