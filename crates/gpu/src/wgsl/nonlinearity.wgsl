struct Activated {
    n: u32,
    // 0: ReLU, 1: GELU, 2: GELU by tanh, 3: SiLU.
    f: u32,
    d: u32,
}
var<immediate> activated: Activated;

// The value and the slope of GELU, with the distribution function by formula 7.1.26 of Abramowitz and Stegun (1964).
fn gelu(x: f32) -> vec2<f32> {
    let z = abs(x) * 0.70710678;
    let t = 1.0 / (1.0 + 0.3275911 * z);
    let polynomial =
        ((((1.0614054 * t - 1.453152) * t + 1.4214137) * t - 0.28449674) * t + 0.2548296) * t;
    let e = exp(-z * z);
    let tail = 0.5 * polynomial * e;
    let below = select(1.0 - tail, tail, x < 0.0);
    return vec2<f32>(x * below, below + x * 0.3989423 * e);
}

fn gelu_tanh(x: f32) -> vec2<f32> {
    let double = 1.5957692 * (x + 0.044715 * x * x * x);
    let slope = 1.5957692 * (1.0 + 0.134145 * x * x);
    let above = sigmoid(double);
    return vec2<f32>(x * above, above + x * above * sigmoid(-double) * slope);
}

fn silu(x: f32) -> vec2<f32> {
    let y = sigmoid(x);
    return vec2<f32>(x * y, y * (1.0 + x * (1.0 - y)));
}

fn value_and_slope(x: f32) -> vec2<f32> {
    switch (activated.f) {
        case 0u: {
            return vec2<f32>(max(x, 0.0), select(0.0, 1.0, x > 0.0));
        }
        case 1u: {
            return gelu(x);
        }
        case 2u: {
            return gelu_tanh(x);
        }
        default: {
            return silu(x);
        }
    }
}

@compute @workgroup_size(256)
fn nonlinear(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < activated.n) {
        o1[i] = value_and_slope(a0[i]).x;
    }
}

@compute @workgroup_size(256)
fn nonlinear_backward(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < activated.n) {
        o2[i] = a1[i] * value_and_slope(a0[i]).y;
    }
}

@compute @workgroup_size(256)
fn gated(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < activated.n) {
        let at = i / activated.d * 2u * activated.d + i % activated.d;
        o1[i] = value_and_slope(a0[at]).x * a0[at + activated.d];
    }
}

@compute @workgroup_size(256)
fn gated_backward(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < activated.n) {
        let at = i / activated.d * 2u * activated.d + i % activated.d;
        let found = value_and_slope(a0[at]);
        o2[at] = a1[i] * a0[at + activated.d] * found.y;
        o2[at + activated.d] = a1[i] * found.x;
    }
}
