// Every kernel is bound to buffers in the order in which it is given them: a0, a1, … and u0, u1, … are read, o0, o1, … are
// written. No subgroup operations: reductions run in one fixed order, whatever the width of the subgroups.
@group(0) @binding(0) var<storage, read> a0: array<f32>;
@group(0) @binding(1) var<storage, read> a1: array<f32>;
@group(0) @binding(2) var<storage, read> a2: array<f32>;
@group(0) @binding(3) var<storage, read> a3: array<f32>;
@group(0) @binding(4) var<storage, read> a4: array<f32>;
@group(0) @binding(5) var<storage, read> a5: array<f32>;
@group(0) @binding(6) var<storage, read> a6: array<f32>;

@group(0) @binding(0) var<storage, read> u0: array<u32>;
@group(0) @binding(1) var<storage, read> u1: array<u32>;
@group(0) @binding(2) var<storage, read> u2: array<u32>;
@group(0) @binding(3) var<storage, read> u3: array<u32>;
@group(0) @binding(4) var<storage, read> u4: array<u32>;
@group(0) @binding(5) var<storage, read> u5: array<u32>;

@group(0) @binding(0) var<storage, read_write> o0: array<f32>;
@group(0) @binding(1) var<storage, read_write> o1: array<f32>;
@group(0) @binding(2) var<storage, read_write> o2: array<f32>;
@group(0) @binding(3) var<storage, read_write> o3: array<f32>;
@group(0) @binding(4) var<storage, read_write> o4: array<f32>;
@group(0) @binding(5) var<storage, read_write> o5: array<f32>;
@group(0) @binding(6) var<storage, read_write> o6: array<f32>;
@group(0) @binding(7) var<storage, read_write> o7: array<f32>;
@group(0) @binding(8) var<storage, read_write> o8: array<f32>;
@group(0) @binding(9) var<storage, read_write> o9: array<f32>;

// The number of a workgroup in a grid of two dimensions.
fn number_of(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.y * groups.x + group.x;
}

// The element of an invocation, 256 in each workgroup.
fn element(group: vec3<u32>, groups: vec3<u32>, lane: u32) -> u32 {
    return number_of(group, groups) * 256u + lane;
}

// tanh without overflow, and with its relative precision near 0.
fn tanh_of(x: f32) -> f32 {
    let s = x * x;
    if (s < 0.04) {
        return x * (1.0 + s * (-0.33333334 + s * (0.13333334 + s * (-0.053968254 + s * 0.021869488))));
    }
    let e = exp(-2.0 * abs(x));
    return sign(x) * (1.0 - e) / (1.0 + e);
}

fn sigmoid(x: f32) -> f32 {
    let e = exp(-abs(x));
    return select(e, 1.0, x >= 0.0) / (1.0 + e);
}
