// The mask of dropout: Philox 4×32-10 (Salmon et al. 2011). Eight elements, 8 apart, share a draw, 16 bits for each.
struct Mask {
    seed_low: u32,
    seed_high: u32,
    site: u32,
    batch_low: u32,
    batch_high: u32,
    threshold: u32,
    kept: f32,
}

// The upper half of a product.
fn high(a: u32, b: u32) -> u32 {
    let al = a & 0xFFFFu;
    let ah = a >> 16u;
    let bl = b & 0xFFFFu;
    let bh = b >> 16u;
    let t = ah * bl + ((al * bl) >> 16u);
    let u = al * bh + (t & 0xFFFFu);
    return ah * bh + (t >> 16u) + (u >> 16u);
}

fn philox(key: vec2<u32>, counter: vec4<u32>) -> vec4<u32> {
    var k = key;
    var c = counter;
    for (var round = 0; round < 10; round++) {
        let from_z = 0xCD9E8D57u * c.z;
        let from_x = 0xD2511F53u * c.x;
        c = vec4<u32>(high(0xCD9E8D57u, c.z) ^ c.y ^ k.x, from_z, high(0xD2511F53u, c.x) ^ c.w ^ k.y, from_x);
        k += vec2<u32>(0x9E3779B9u, 0xBB67AE85u);
    }
    return c;
}

fn draw(mask: Mask, block: u32) -> vec4<u32> {
    let key = vec2<u32>(mask.seed_low, mask.seed_high);
    return philox(key, vec4<u32>(block, mask.site, mask.batch_low, mask.batch_high));
}

// The factor of the element number `inside` / 8 of a draw.
fn factor_of(mask: Mask, words: vec4<u32>, inside: u32) -> f32 {
    let bits = (words[inside / 16u] >> (16u * (inside / 8u % 2u))) & 0xFFFFu;
    return select(0.0, mask.kept, bits >= mask.threshold);
}
