// What is computed over chunks of 4096 elements, a workgroup each.
const CHUNK = 4096u;
const LANES = 128u;

struct Checked {
    n: u32,
}
var<immediate> checked: Checked;

var<workgroup> sums: array<f32, LANES>;

@compute @workgroup_size(128)
fn squares(INVOCATION) {
    let chunk = number_of(group, groups);
    if (chunk * CHUNK >= checked.n) {
        return;
    }
    let last = min(checked.n, (chunk + 1u) * CHUNK);
    var sum = 0.0;
    for (var i = chunk * CHUNK + lane; i < last; i += LANES) {
        sum += a0[i] * a0[i];
    }
    sums[lane] = sum;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if (lane < half) {
            sums[lane] += sums[lane + half];
        }
        workgroupBarrier();
    }
    if (lane == 0u) {
        o1[chunk] = sums[0];
    }
}

@group(0) @binding(1) var<storage, read_write> places: array<u32>;
var<workgroup> found: array<u32, LANES>;

// The first element of each chunk whose exponent has all bits: an infinite one, or none at all.
@compute @workgroup_size(128)
fn non_finite(INVOCATION) {
    let chunk = number_of(group, groups);
    if (chunk * CHUNK >= checked.n) {
        return;
    }
    let last = min(checked.n, (chunk + 1u) * CHUNK);
    var place = 0xFFFFFFFFu;
    for (var i = chunk * CHUNK + lane; i < last; i += LANES) {
        if ((u0[i] & 0x7F800000u) == 0x7F800000u) {
            place = min(place, i);
        }
    }
    found[lane] = place;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if (lane < half) {
            found[lane] = min(found[lane], found[lane + half]);
        }
        workgroupBarrier();
    }
    if (lane == 0u) {
        places[chunk] = found[0];
    }
}
