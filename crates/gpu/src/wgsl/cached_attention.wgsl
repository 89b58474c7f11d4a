struct Cached {
    rows: u32,
    heads: u32,
    kv_heads: u32,
    d_head: u32,
    d_value: u32,
    // The width of a row of queries, and the first column of the queries.
    q_row: u32,
    q_first: u32,
    // The width of a row of weights.
    longest: u32,
    // 0: q · k, 1: with what is added for each distance, 2: additive.
    kind: u32,
    scale: f32,
    // The distances of a head.
    distances: u32,
}
var<immediate> cached: Cached;

const BLOCK = 16u;

// Where the row of a position in the cache begins.
fn cached_row(first: u32, position: u32) -> u32 {
    let row = u2[first + position / BLOCK] * BLOCK + position % BLOCK;
    return row * cached.kv_heads * (cached.d_head + cached.d_value);
}

// A workgroup has a head of a query. u2 has the place of its first block in u2 and the number of its positions, for each query,
// then the blocks. o4 are the contexts, o5 the weights.
@compute @workgroup_size(128)
fn cached_attention(INVOCATION) {
    let number = number_of(group, groups);
    if (number >= cached.rows * cached.heads) {
        return;
    }
    let row = number / cached.heads;
    let head = number % cached.heads;
    let kv = head / (cached.heads / cached.kv_heads);
    let first = u2[2u * row];
    let len = u2[2u * row + 1u];
    let q = row * cached.q_row + cached.q_first + head * cached.d_head;
    let w = number * cached.longest;
    var top = -3.4028234e38;
    for (var j = lane; j < len; j += LANES) {
        let k = cached_row(first, j) + kv * cached.d_head;
        var score = 0.0;
        if (cached.kind == 2u) {
            for (var c = 0u; c < cached.d_head; c++) {
                score += a3[c] * tanh_of(a0[q + c] + a1[k + c]);
            }
        } else {
            for (var c = 0u; c < cached.d_head; c++) {
                score = fma(a0[q + c], a1[k + c], score);
            }
            score *= cached.scale;
            if (cached.kind == 1u) {
                score += a3[head * cached.distances + len - 1u - j];
            }
        }
        o5[w + j] = score;
        top = max(top, score);
    }
    top = largest(top, lane);
    var sum = 0.0;
    for (var j = lane; j < len; j += LANES) {
        let power = exp(o5[w + j] - top);
        o5[w + j] = power;
        sum += power;
    }
    sum = total(sum, lane);
    for (var j = lane; j < len; j += LANES) {
        o5[w + j] /= sum;
    }
    storageBarrier();
    for (var c = lane; c < cached.d_value; c += LANES) {
        let column = cached.kv_heads * cached.d_head + kv * cached.d_value + c;
        var context = 0.0;
        for (var j = 0u; j < len; j++) {
            context = fma(o5[w + j], a1[cached_row(first, j) + column], context);
        }
        o4[number * cached.d_value + c] = context;
    }
}
