struct Adam {
    n: u32,
    first: u32,
    shrink: f32,
    l2: f32,
    grad_scale: f32,
    mean_rate: f32,
    square_keep: f32,
    square_rate: f32,
    correction: f32,
    epsilon: f32,
    step_size: f32,
    has_verdict: u32,
}
var<immediate> adam_of: Adam;

// A verdict, if there is one, is the last operand: the factor of gradients, and whether nothing changes.
@compute @workgroup_size(256)
fn adam(INVOCATION) {
    let i = element(group, groups, lane);
    var scale = adam_of.grad_scale;
    if (adam_of.has_verdict != 0u) {
        if (a4[1] != 0.0) {
            return;
        }
        scale *= a4[0];
    }
    if (i < adam_of.n) {
        let at = adam_of.first + i;
        let p = o0[at];
        let g = a3[i] * scale + adam_of.l2 * p;
        let m = o1[i] + adam_of.mean_rate * (g - o1[i]);
        let v = o2[i] * adam_of.square_keep + adam_of.square_rate * g * g;
        o1[i] = m;
        o2[i] = v;
        o0[at] = p * adam_of.shrink - adam_of.step_size * (m / (sqrt(v) / adam_of.correction + adam_of.epsilon));
    }
}

struct Sgd {
    n: u32,
    first: u32,
    learning_rate: f32,
    momentum: f32,
    l2: f32,
    grad_scale: f32,
    has_verdict: u32,
}
var<immediate> sgd_of: Sgd;

@compute @workgroup_size(256)
fn sgd(INVOCATION) {
    let i = element(group, groups, lane);
    var scale = sgd_of.grad_scale;
    if (sgd_of.has_verdict != 0u) {
        if (a2[1] != 0.0) {
            return;
        }
        scale *= a2[0];
    }
    if (i < sgd_of.n) {
        let at = sgd_of.first + i;
        let g = a1[i] * scale + sgd_of.l2 * o0[at];
        o0[at] -= sgd_of.learning_rate * g;
    }
}

@compute @workgroup_size(256)
fn sgd_with_velocity(INVOCATION) {
    let i = element(group, groups, lane);
    var scale = sgd_of.grad_scale;
    if (sgd_of.has_verdict != 0u) {
        if (a3[1] != 0.0) {
            return;
        }
        scale *= a3[0];
    }
    if (i < sgd_of.n) {
        let at = sgd_of.first + i;
        let v = sgd_of.momentum * o2[i] + (a1[i] * scale + sgd_of.l2 * o0[at]);
        o2[i] = v;
        o0[at] -= sgd_of.learning_rate * v;
    }
}
