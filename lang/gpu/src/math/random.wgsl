// Counter-based random numbers: Philox4x32-10 (Salmon et al., 2011), equal to the CPU's bit for bit.

// One block of four words from a counter and a key.
fn r_philox(counter: vec4<u32>, key: vec2<u32>) -> vec4<u32> {
  var c = counter;
  var k = key;
  for (var i = 0u; i < 10u; i++) {
    let p0 = u64(c.x) * 3528531795lu;
    let p1 = u64(c.z) * 3449720151lu;
    c = vec4<u32>(u32(p1 >> 32u) ^ c.y ^ k.x, u32(p1), u32(p0 >> 32u) ^ c.w ^ k.y, u32(p0));
    k = vec2<u32>(k.x + 2654435769u, k.y + 3144134277u);
  }
  return c;
}

// The high word of a product.
fn r_high(x: u64, y: u64) -> u64 {
  let mask = 4294967295lu;
  let low = ((x & mask) * (y & mask)) >> 32u;
  let a = (x >> 32u) * (y & mask) + low;
  let b = (x & mask) * (y >> 32u) + (a & mask);
  return (x >> 32u) * (y >> 32u) + (a >> 32u) + (b >> 32u);
}

// Uniform in [0, 1).
fn r_unit(bits: u64) -> f64 {
  return f64(i64(bits >> 11u)) * 1.1102230246251565e-16lf;
}
