// Recurrent cells. An invocation has one column of one sequence, at one step or, if no product lies between them, at several.
// Sequences are in the order of their ranks in the schedule: sequence, length and keys of each.
struct Cells {
    // 0: RNN, 1: LSTM, 2: LSTM with coupled gates, 3: GRU, 4: SSRU.
    cell: u32,
    gates: u32,
    states: u32,
    saved: u32,
    d: u32,
    width: u32,
    is_backward: u32,
    // The width of a row of states, and the first column of the state in it.
    state_row: u32,
    state_first: u32,
    has_initial: u32,
    attends: u32,
    // The width of a row of the tape; 0 without one.
    tape_row: u32,
    ranks: u32,
    first: u32,
    end: u32,
    // The row of the tape of rank 0 at the first step.
    tape_first: u32,
}
var<immediate> cells: Cells;

// The input of a gate, apart from U h + b.
fn input_of(row: u32, rank: u32, gate: u32, j: u32) -> f32 {
    let column = gate * cells.d + j;
    var x = a0[row * cells.gates * cells.d + column];
    if (cells.attends != 0u) {
        x += a1[rank * cells.gates * cells.d + column];
    }
    return x;
}

// U h + b
fn hidden_of(rank: u32, gate: u32, j: u32) -> f32 {
    return a2[(rank * cells.gates + gate) * cells.d + j];
}

fn sum_of(row: u32, rank: u32, gate: u32, j: u32) -> f32 {
    return input_of(row, rank, gate, j) + hidden_of(rank, gate, j);
}

// What the backward pass needs of a step, and the new state.
struct Advanced {
    saved: vec4<f32>,
    h: f32,
    c: f32,
}

fn advanced(row: u32, rank: u32, j: u32, h: f32, c: f32) -> Advanced {
    switch (cells.cell) {
        case 0u: {
            return Advanced(vec4<f32>(), tanh_of(sum_of(row, rank, 0u, j)), 0.0);
        }
        case 1u: {
            let i = sigmoid(sum_of(row, rank, 0u, j));
            let f = sigmoid(sum_of(row, rank, 1u, j));
            let g = tanh_of(sum_of(row, rank, 2u, j));
            let o = sigmoid(sum_of(row, rank, 3u, j));
            let after = f * c + i * g;
            return Advanced(vec4<f32>(i, f, g, o), o * tanh_of(after), after);
        }
        case 2u: {
            let f = sigmoid(sum_of(row, rank, 0u, j));
            let g = tanh_of(sum_of(row, rank, 1u, j));
            let o = sigmoid(sum_of(row, rank, 2u, j));
            let after = f * c + (1.0 - f) * g;
            return Advanced(vec4<f32>(f, g, o, 0.0), o * tanh_of(after), after);
        }
        case 3u: {
            let r = sigmoid(sum_of(row, rank, 0u, j));
            let z = sigmoid(sum_of(row, rank, 1u, j));
            let hidden = hidden_of(rank, 2u, j);
            let n = tanh_of(input_of(row, rank, 2u, j) + r * hidden);
            return Advanced(vec4<f32>(r, z, n, hidden), (1.0 - z) * n + z * h, 0.0);
        }
        default: {
            let f = sigmoid(input_of(row, rank, 0u, j));
            let g = input_of(row, rank, 1u, j);
            let after = f * c + (1.0 - f) * g;
            return Advanced(vec4<f32>(f, g, 0.0, 0.0), max(after, 0.0), after);
        }
    }
}

@compute @workgroup_size(256)
fn recurrent_advance(INVOCATION) {
    let i = element(group, groups, lane);
    if (i >= cells.ranks * cells.d) {
        return;
    }
    let rank = i / cells.d;
    let j = i % cells.d;
    let len = u3[3u * rank + 1u];
    let current = rank * cells.states * cells.d + j;
    let has_c = cells.states == 2u;
    for (var step = cells.first; step < min(cells.end, len); step++) {
        let row = row_of(u3[3u * rank], len, cells.width, step, cells.is_backward != 0u);
        var c = 0.0;
        if (has_c) {
            c = o4[current + cells.d];
        }
        let found = advanced(row, rank, j, o4[current], c);
        let at = row * cells.state_row + cells.state_first + j;
        o4[current] = found.h;
        o5[at] = found.h;
        if (has_c) {
            o4[current + cells.d] = found.c;
            o5[at + cells.d] = found.c;
        }
        for (var value = 0u; value < cells.saved; value++) {
            o6[(row * cells.saved + value) * cells.d + j] = found.saved[value];
        }
    }
}

fn sigmoid_slope(y: f32) -> f32 {
    return y * (1.0 - y);
}

fn tanh_slope(y: f32) -> f32 {
    return 1.0 - y * y;
}

// A step that was computed, and the gradients of its state.
struct Timestep {
    saved: vec4<f32>,
    h: f32,
    c: f32,
    h_before: f32,
    c_before: f32,
    dh: f32,
    dc: f32,
}

// The gradients of the sums that enter the gates, and those of the previous state by any path but these.
struct Retreated {
    sums: vec4<f32>,
    dh: f32,
    dc: f32,
}

fn retreated(t: Timestep) -> Retreated {
    switch (cells.cell) {
        case 0u: {
            return Retreated(vec4<f32>(t.dh * tanh_slope(t.h), 0.0, 0.0, 0.0), 0.0, 0.0);
        }
        case 1u: {
            let i = t.saved.x;
            let f = t.saved.y;
            let g = t.saved.z;
            let o = t.saved.w;
            let bounded = tanh_of(t.c);
            let dc = t.dc + t.dh * o * tanh_slope(bounded);
            let sums = vec4<f32>(
                dc * g * sigmoid_slope(i),
                dc * t.c_before * sigmoid_slope(f),
                dc * i * tanh_slope(g),
                t.dh * bounded * sigmoid_slope(o),
            );
            return Retreated(sums, 0.0, dc * f);
        }
        case 2u: {
            let f = t.saved.x;
            let g = t.saved.y;
            let o = t.saved.z;
            let bounded = tanh_of(t.c);
            let dc = t.dc + t.dh * o * tanh_slope(bounded);
            let sums = vec4<f32>(
                dc * (t.c_before - g) * sigmoid_slope(f),
                dc * (1.0 - f) * tanh_slope(g),
                t.dh * bounded * sigmoid_slope(o),
                0.0,
            );
            return Retreated(sums, 0.0, dc * f);
        }
        case 3u: {
            let r = t.saved.x;
            let z = t.saved.y;
            let n = t.saved.z;
            let dn = t.dh * (1.0 - z) * tanh_slope(n);
            let sums = vec4<f32>(
                dn * t.saved.w * sigmoid_slope(r),
                t.dh * (t.h_before - n) * sigmoid_slope(z),
                dn,
                0.0,
            );
            return Retreated(sums, t.dh * z, 0.0);
        }
        default: {
            let f = t.saved.x;
            let g = t.saved.y;
            let dc = t.dc + select(0.0, t.dh, t.c > 0.0);
            let sums = vec4<f32>(dc * (t.c_before - g) * sigmoid_slope(f), dc * (1.0 - f), 0.0, 0.0);
            return Retreated(sums, 0.0, dc * f);
        }
    }
}

// Column `column` of the state before a step.
fn before(sequence: u32, len: u32, step: u32, column: u32) -> f32 {
    if (step > 0u) {
        let row = row_of(sequence, len, cells.width, step - 1u, cells.is_backward != 0u);
        return a1[row * cells.state_row + cells.state_first + column];
    }
    if (cells.has_initial != 0u) {
        return a3[sequence * cells.states * cells.d + column];
    }
    return 0.0;
}

// The steps in reverse. A row of the tape has the gradients of U h + b, and at its end those of the projected input, which are
// the same numbers at the same place for all cells but the GRU.
@compute @workgroup_size(256)
fn recurrent_retreat(INVOCATION) {
    let i = element(group, groups, lane);
    if (i >= cells.ranks * cells.d) {
        return;
    }
    let rank = i / cells.d;
    let j = i % cells.d;
    let sequence = u4[3u * rank];
    let len = u4[3u * rank + 1u];
    let flow = rank * cells.states * cells.d + j;
    let has_c = cells.states == 2u;
    for (var step = min(cells.end, len); step > cells.first; step--) {
        let row = row_of(sequence, len, cells.width, step - 1u, cells.is_backward != 0u);
        let at = row * cells.state_row + cells.state_first + j;
        var t = Timestep();
        for (var value = 0u; value < cells.saved; value++) {
            t.saved[value] = a2[(row * cells.saved + value) * cells.d + j];
        }
        t.h = a1[at];
        t.h_before = before(sequence, len, step - 1u, j);
        t.dh = o5[flow] + a0[at];
        if (has_c) {
            t.c = a1[at + cells.d];
            t.c_before = before(sequence, len, step - 1u, cells.d + j);
            t.dc = o5[flow + cells.d] + a0[at + cells.d];
        }
        let found = retreated(t);
        o5[flow] = found.dh;
        if (has_c) {
            o5[flow + cells.d] = found.dc;
        }
        for (var gate = 0u; gate < cells.gates; gate++) {
            o6[(row * cells.gates + gate) * cells.d + j] = found.sums[gate];
        }
        if (cells.tape_row > 0u) {
            let of_sums = (cells.tape_first + rank) * cells.tape_row + j;
            let of_inputs = of_sums + cells.tape_row - cells.gates * cells.d;
            for (var gate = 0u; gate < cells.gates; gate++) {
                o7[of_inputs + gate * cells.d] = found.sums[gate];
            }
            if (cells.cell == 3u) {
                o7[of_sums + 2u * cells.d] = found.sums.z * t.saved.x;
                if (of_sums != of_inputs) {
                    o7[of_sums] = found.sums.x;
                    o7[of_sums + cells.d] = found.sums.y;
                }
            }
        }
    }
}

struct Before {
    n: u32,
    d: u32,
    state_row: u32,
    state_first: u32,
    initial_row: u32,
    has_initial: u32,
    // The rows of the tape of first steps.
    starts: u32,
    to: u32,
}
var<immediate> gathered: Before;

// The h before each step, in the order of a tape: from the rows u2 of a0, or for first steps from those of a1.
@compute @workgroup_size(256)
fn recurrent_before(INVOCATION) {
    let i = element(group, groups, lane);
    if (i >= gathered.n) {
        return;
    }
    let row = i / gathered.d;
    let j = i % gathered.d;
    var h = 0.0;
    if (row >= gathered.starts) {
        h = a0[u2[row] * gathered.state_row + gathered.state_first + j];
    } else if (gathered.has_initial != 0u) {
        h = a1[u2[row] * gathered.initial_row + j];
    }
    o3[gathered.to + i] = h;
}
