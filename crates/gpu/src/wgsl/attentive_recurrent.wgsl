// Additive attention of sequences at one step, a workgroup a sequence. The scores of 128 keys exist at a time: 16 invocations
// share the sum for a key, and then an invocation has a key. Sequences are in the order of their ranks in the schedule:
// sequence, length and keys of each, and then the first row of each step in a tape.
struct Attentive {
    src: u32,
    d_key: u32,
    d_value: u32,
    // The width of a row of the output, and the columns before the context.
    out_row: u32,
    states: u32,
    width: u32,
    is_backward: u32,
    ranks: u32,
    step: u32,
    // The row of the tape of rank 0.
    tape_first: u32,
    // Whether the weights have a row for each position, or only one for each rank.
    keeps: u32,
}
var<immediate> attentive: Attentive;

const PARTS = 16u;
const AT_ONCE = LANES / PARTS;
const HIDDEN = -3.0e38;

var<workgroup> partial: array<f32, LANES>;
// Numbers of 128 keys.
var<workgroup> tile: array<f32, LANES>;

fn row_at(sequence: u32, len: u32, step: u32) -> u32 {
    return row_of(sequence, len, attentive.width, step, attentive.is_backward != 0u);
}

// Puts the sums for the keys of a round into the tile.
fn collect(sum: f32, round: u32, lane: u32) {
    partial[lane] = sum;
    workgroupBarrier();
    if (lane < AT_ONCE) {
        var all = 0.0;
        for (var part = 0u; part < PARTS; part++) {
            all += partial[lane * PARTS + part];
        }
        tile[round * AT_ONCE + lane] = all;
    }
    workgroupBarrier();
}

// Puts the number of each invocation into the tile.
fn share(value: f32, lane: u32) {
    workgroupBarrier();
    tile[lane] = value;
    workgroupBarrier();
}

// The contexts and weights of queries a0 by rank, for keys a1, values a2 and v a3.
@compute @workgroup_size(128)
fn attend(INVOCATION) {
    let rank = number_of(group, groups);
    if (rank >= attentive.ranks) {
        return;
    }
    let sequence = u4[3u * rank];
    let row = row_at(sequence, u4[3u * rank + 1u], attentive.step);
    let keys = u4[3u * rank + 2u];
    let first = sequence * attentive.src;
    let to = select(rank, row, attentive.keeps != 0u) * attentive.src;
    var top = HIDDEN;
    for (var base = 0u; base < keys; base += LANES) {
        for (var round = 0u; round < PARTS && base + round * AT_ONCE < keys; round++) {
            let j = base + round * AT_ONCE + lane / PARTS;
            var sum = 0.0;
            if (j < keys) {
                for (var c = lane % PARTS; c < attentive.d_key; c += PARTS) {
                    let q = a0[rank * attentive.d_key + c];
                    sum += a3[c] * tanh_of(q + a1[(first + j) * attentive.d_key + c]);
                }
            }
            collect(sum, round, lane);
        }
        if (base + lane < keys) {
            o7[to + base + lane] = tile[lane];
            top = max(top, tile[lane]);
        }
        workgroupBarrier();
    }
    top = largest(top, lane);
    var sum = 0.0;
    for (var j = lane; j < keys; j += LANES) {
        let e = exp(o7[to + j] - top);
        o7[to + j] = e;
        sum += e;
    }
    sum = total(sum, lane);
    for (var j = lane; j < keys; j += LANES) {
        o7[to + j] /= sum;
    }
    for (var start = 0u; start < attentive.d_value; start += LANES) {
        let c = start + lane;
        var context = 0.0;
        for (var base = 0u; base < keys; base += LANES) {
            var weight = 0.0;
            if (base + lane < keys) {
                weight = o7[to + base + lane];
            }
            share(weight, lane);
            if (c < attentive.d_value) {
                for (var j = 0u; j < min(LANES, keys - base); j++) {
                    context += tile[j] * a2[(first + base + j) * attentive.d_value + c];
                }
            }
        }
        if (c < attentive.d_value) {
            o5[row * attentive.out_row + attentive.states + c] = context;
            o6[rank * attentive.d_value + c] = context;
        }
    }
}

@group(0) @binding(7) var<storage, read> weights: array<f32>;

// The gradient of the context of a sequence: that of the output, a0, and by rank that through the gates, a1.
fn context_gradient(row: u32, rank: u32, c: u32) -> f32 {
    return a0[row * attentive.out_row + attentive.states + c] + a1[rank * attentive.d_value + c];
}

// The gradients of the contexts and scores, in a row of o8 for each position, and of the queries a2, which are on a tape; for
// keys a3, values a4 and v a6.
@compute @workgroup_size(128)
fn attend_backward(INVOCATION) {
    let rank = number_of(group, groups);
    if (rank >= attentive.ranks) {
        return;
    }
    let sequence = u5[3u * rank];
    let row = row_at(sequence, u5[3u * rank + 1u], attentive.step);
    let keys = u5[3u * rank + 2u];
    let first = sequence * attentive.src;
    let contexts = row * (attentive.d_value + attentive.src);
    let scores = contexts + attentive.d_value;
    for (var c = lane; c < attentive.d_value; c += LANES) {
        o8[contexts + c] = context_gradient(row, rank, c);
    }
    var mean = 0.0;
    for (var base = 0u; base < keys; base += LANES) {
        for (var round = 0u; round < PARTS && base + round * AT_ONCE < keys; round++) {
            let j = base + round * AT_ONCE + lane / PARTS;
            var sum = 0.0;
            if (j < keys) {
                for (var c = lane % PARTS; c < attentive.d_value; c += PARTS) {
                    sum += context_gradient(row, rank, c) * a4[(first + j) * attentive.d_value + c];
                }
            }
            collect(sum, round, lane);
        }
        let j = base + lane;
        if (j < keys) {
            o8[scores + j] = tile[lane];
            mean += weights[row * attentive.src + j] * tile[lane];
        }
        workgroupBarrier();
    }
    mean = total(mean, lane);
    for (var j = lane; j < keys; j += LANES) {
        o8[scores + j] = weights[row * attentive.src + j] * (o8[scores + j] - mean);
    }
    let query = (attentive.tape_first + rank) * attentive.d_key;
    for (var start = 0u; start < attentive.d_key; start += LANES) {
        let c = start + lane;
        var gradient = 0.0;
        for (var base = 0u; base < keys; base += LANES) {
            var score = 0.0;
            if (base + lane < keys) {
                score = o8[scores + base + lane];
            }
            share(score, lane);
            if (c < attentive.d_key) {
                for (var j = 0u; j < min(LANES, keys - base); j++) {
                    let y = tanh_of(a2[query + c] + a3[(first + base + j) * attentive.d_key + c]);
                    gradient += tile[j] * (1.0 - y * y);
                }
            }
        }
        if (c < attentive.d_key) {
            o9[query + c] = gradient * a6[c];
        }
    }
}

// The gradients o5 of the keys a2, and the terms o6 of that of v a3, from the gradients a0 of scores and the queries a1.
@compute @workgroup_size(256)
fn attend_keys(INVOCATION) {
    let i = element(group, groups, lane);
    if (i >= attentive.ranks * attentive.src * attentive.d_key) {
        return;
    }
    let rank = i / (attentive.src * attentive.d_key);
    let j = i / attentive.d_key % attentive.src;
    let c = i % attentive.d_key;
    let sequence = u4[3u * rank];
    let len = u4[3u * rank + 1u];
    let at = (sequence * attentive.src + j) * attentive.d_key + c;
    var sum = 0.0;
    var of_v = 0.0;
    if (j < u4[3u * rank + 2u]) {
        for (var step = 0u; step < len; step++) {
            let scores = row_at(sequence, len, step) * (attentive.d_value + attentive.src) + attentive.d_value;
            let query = u4[3u * attentive.ranks + step] + rank;
            let y = tanh_of(a1[query * attentive.d_key + c] + a2[at]);
            sum += a0[scores + j] * (1.0 - y * y);
            of_v += a0[scores + j] * y;
        }
    }
    o5[at] = sum * a3[c];
    o6[at] = of_v;
}

// The gradients o3 of the values, from the gradients a0 of the contexts and the weights a1.
@compute @workgroup_size(256)
fn attend_values(INVOCATION) {
    let i = element(group, groups, lane);
    if (i >= attentive.ranks * attentive.src * attentive.d_value) {
        return;
    }
    let rank = i / (attentive.src * attentive.d_value);
    let j = i / attentive.d_value % attentive.src;
    let c = i % attentive.d_value;
    let sequence = u2[3u * rank];
    let len = u2[3u * rank + 1u];
    var sum = 0.0;
    if (j < u2[3u * rank + 2u]) {
        for (var step = 0u; step < len; step++) {
            let row = row_at(sequence, len, step);
            sum += a1[row * attentive.src + j] * a0[row * (attentive.d_value + attentive.src) + c];
        }
    }
    o3[(sequence * attentive.src + j) * attentive.d_value + c] = sum;
}
