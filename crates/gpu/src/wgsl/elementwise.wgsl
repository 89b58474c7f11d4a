struct Elements {
    n: u32,
    factor: f32,
}
var<immediate> elements: Elements;

@compute @workgroup_size(256)
fn fill(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < elements.n) {
        o0[i] = elements.factor;
    }
}

@compute @workgroup_size(256)
fn copy(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < elements.n) {
        o1[i] = a0[i];
    }
}

@compute @workgroup_size(256)
fn add(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < elements.n) {
        o1[i] += a0[i];
    }
}

@compute @workgroup_size(256)
fn sum_of_two(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < elements.n) {
        o2[i] = a0[i] + a1[i];
    }
}

@compute @workgroup_size(256)
fn scale(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < elements.n) {
        o0[i] *= elements.factor;
    }
}

@compute @workgroup_size(256)
fn scale_by(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < elements.n) {
        o1[i] *= a0[0];
    }
}

// The gradient through a ReLU whose result is a0: zeros of dropout are among its zeros.
@compute @workgroup_size(256)
fn mask_relu(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < elements.n) {
        o1[i] = select(0.0, o1[i] * elements.factor, a0[i] > 0.0);
    }
}

@compute @workgroup_size(256)
fn tanh_forward(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < elements.n) {
        o1[i] = tanh_of(a0[i]);
    }
}

@compute @workgroup_size(256)
fn tanh_backward(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < elements.n) {
        o1[i] *= 1.0 - a0[i] * a0[i];
    }
}
