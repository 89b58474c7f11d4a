// Norms, a workgroup a row. Kind 0 is the layer norm, 1 the RMS norm, 2 the one with a single gain and bias.
struct Norm {
    rows: u32,
    d: u32,
    kind: u32,
    has_bias: u32,
    epsilon: f32,
}
var<immediate> norm_of: Norm;

struct Statistics {
    mean: f32,
    inverse: f32,
    curvature: f32,
}

// The mean and 1 / divisor of a row, and the factor of the slope in its gradient.
fn statistics(at: u32, lane: u32) -> Statistics {
    let d = f32(norm_of.d);
    var sum = 0.0;
    if (norm_of.kind == 1u) {
        for (var j = lane; j < norm_of.d; j += LANES) {
            sum += a0[at + j] * a0[at + j];
        }
        return Statistics(0.0, 1.0 / sqrt(total(sum, lane) / d + norm_of.epsilon), 1.0);
    }
    for (var j = lane; j < norm_of.d; j += LANES) {
        sum += a0[at + j];
    }
    let mean = total(sum, lane) / d;
    sum = 0.0;
    for (var j = lane; j < norm_of.d; j += LANES) {
        let centered = a0[at + j] - mean;
        sum += centered * centered;
    }
    let squares = total(sum, lane);
    if (norm_of.kind == 0u) {
        return Statistics(mean, 1.0 / sqrt(squares / d + norm_of.epsilon), 1.0);
    }
    let freedom = max(d - 1.0, 1.0);
    let deviation = sqrt(squares / freedom);
    var curvature = 0.0;
    if (deviation != 0.0) {
        curvature = (deviation + norm_of.epsilon) / deviation * (d / freedom);
    }
    return Statistics(mean, 1.0 / (deviation + norm_of.epsilon), curvature);
}

fn gain_at(j: u32) -> f32 {
    return a1[select(j, 0u, norm_of.kind == 2u)];
}

@compute @workgroup_size(128)
fn norm(INVOCATION) {
    let row = number_of(group, groups);
    if (row >= norm_of.rows) {
        return;
    }
    let at = row * norm_of.d;
    let s = statistics(at, lane);
    for (var j = lane; j < norm_of.d; j += LANES) {
        var y = (a0[at + j] - s.mean) * s.inverse * gain_at(j);
        if (norm_of.has_bias != 0u) {
            y += a2[select(j, 0u, norm_of.kind == 2u)];
        }
        o3[at + j] = y;
    }
}

// a0 is x, a1 the gain and a2 the gradient. o3 is the gradient of x, o4 has the statistics of each row, and o5 its terms of the
// gradients of a single gain and bias.
@compute @workgroup_size(128)
fn norm_backward(INVOCATION) {
    let row = number_of(group, groups);
    if (row >= norm_of.rows) {
        return;
    }
    let at = row * norm_of.d;
    let s = statistics(at, lane);
    var shift = 0.0;
    var slope = 0.0;
    var of_gain = 0.0;
    var of_bias = 0.0;
    for (var j = lane; j < norm_of.d; j += LANES) {
        let x = (a0[at + j] - s.mean) * s.inverse;
        let scaled = a2[at + j] * gain_at(j);
        shift += scaled;
        slope += scaled * x;
        of_gain += a2[at + j] * x;
        of_bias += a2[at + j];
    }
    let d = f32(norm_of.d);
    shift = select(total(shift, lane) / d, 0.0, norm_of.kind == 1u);
    slope = total(slope, lane) / d * s.curvature;
    for (var j = lane; j < norm_of.d; j += LANES) {
        let x = (a0[at + j] - s.mean) * s.inverse;
        o3[at + j] = (a2[at + j] * gain_at(j) - shift - x * slope) * s.inverse;
    }
    if (norm_of.kind == 2u) {
        of_gain = total(of_gain, lane);
        of_bias = total(of_bias, lane);
    }
    if (lane == 0u) {
        o4[2u * row] = s.mean;
        o4[2u * row + 1u] = s.inverse;
        o5[2u * row] = of_gain;
        o5[2u * row + 1u] = of_bias;
    }
}

// The sums over 64 rows of the terms of the gradients of gain and bias; a0 is x, a1 its statistics and a2 the gradient.
@compute @workgroup_size(64)
fn norm_columns(INVOCATION) {
    let column = group.x * 64u + lane;
    if (column >= norm_of.d) {
        return;
    }
    let last = min(norm_of.rows, group.y * 64u + 64u);
    var of_gain = 0.0;
    var of_bias = 0.0;
    for (var row = group.y * 64u; row < last; row++) {
        let at = row * norm_of.d + column;
        of_gain += a2[at] * ((a0[at] - a1[2u * row]) * a1[2u * row + 1u]);
        of_bias += a2[at];
    }
    o3[2u * group.y * norm_of.d + column] = of_gain;
    o3[(2u * group.y + 1u) * norm_of.d + column] = of_bias;
}
