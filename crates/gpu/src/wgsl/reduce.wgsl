// Sums and maxima over a workgroup of 128 invocations, in one fixed order.
const LANES = 128u;
var<workgroup> scratch: array<f32, LANES>;

fn total(value: f32, lane: u32) -> f32 {
    workgroupBarrier();
    scratch[lane] = value;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if (lane < half) {
            scratch[lane] += scratch[lane + half];
        }
        workgroupBarrier();
    }
    return scratch[0];
}

fn largest(value: f32, lane: u32) -> f32 {
    workgroupBarrier();
    scratch[lane] = value;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if (lane < half) {
            scratch[lane] = max(scratch[lane], scratch[lane + half]);
        }
        workgroupBarrier();
    }
    return scratch[0];
}
