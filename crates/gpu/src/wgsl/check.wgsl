// What is computed over chunks of 4096 elements, a workgroup each.
const CHUNK = 4096u;
const LANES = 128u;

struct Checked {
    n: u32,
    // Where the first result is written.
    first: u32,
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
        o1[checked.first + chunk] = sums[0];
    }
}

struct Judged {
    n: u32,
    clip_norm: f32,
    n_tokens: f32,
    has_before: u32,
}
var<immediate> judged: Judged;

fn is_finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7F800000u) != 0x7F800000u;
}

// The verdict on an update, o3, from its loss, the sums of squares of its gradients, and the verdict on the update before: the
// factor of its gradients, and whether it changes nothing.
@compute @workgroup_size(128)
fn verdict(INVOCATION) {
    var sum = 0.0;
    for (var i = lane; i < judged.n; i += LANES) {
        sum += a1[i];
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
        let norm = sqrt(sums[0]) / judged.n_tokens;
        var is_damaged = !is_finite(a0[0]) || !is_finite(sums[0]);
        if (judged.has_before != 0u) {
            is_damaged = is_damaged || a2[1] != 0.0;
        }
        o3[0] = select(1.0, judged.clip_norm / norm, judged.clip_norm > 0.0 && norm > judged.clip_norm);
        o3[1] = select(0.0, 1.0, is_damaged);
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
