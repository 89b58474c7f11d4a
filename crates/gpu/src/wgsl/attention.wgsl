// Multi-head attention in blocks of 32 queries and 32 keys. Scores exist for one pair of blocks at a time. An invocation
// (x, y) of a workgroup has the scores of query y for the keys x, x + 8, x + 16 and x + 24 of a block, and four columns of each
// 32 columns of row y of a result. Lines with EACH are repeated for each 32 columns of a head, numbered by CHUNK.
const BLOCK = 32u;
const QUADS = 8u;
// One more than needed: neighboring rows begin in different banks.
const ROW = QUADS + 1u;
const SCORES = BLOCK + 1u;
const HIDDEN = -3.0e38;

struct Attention {
    mask: Mask,
    batch: u32,
    heads: u32,
    kv_heads: u32,
    tgt: u32,
    src: u32,
    d: u32,
    is_causal: u32,
    has_bias: u32,
    has_lengths: u32,
    has_dropout: u32,
    scale: f32,
    q_row: u32,
    k_first: u32,
    v_first: u32,
    kv_row: u32,
    out_row: u32,
}
var<immediate> attended: Attention;

var<workgroup> left: array<vec4<f32>, BLOCK * ROW>;
var<workgroup> right: array<vec4<f32>, BLOCK * ROW>;
var<workgroup> tile: array<f32, BLOCK * SCORES>;
var<workgroup> other_tile: array<f32, BLOCK * SCORES>;

// A head of a sentence.
struct Head {
    sentence: u32,
    head: u32,
    // The number of keys that are not padding.
    keys: u32,
    // The first element of query 0, key 0, value 0 and result 0.
    q: u32,
    k: u32,
    v: u32,
    out: u32,
}

fn head_of(sentence: u32, head: u32) -> Head {
    var keys = attended.src;
    if (attended.has_lengths != 0u) {
        keys = u2[sentence];
    }
    let of_keys = sentence * attended.src * attended.kv_row + head / (attended.heads / attended.kv_heads) * attended.d;
    return Head(
        sentence,
        head,
        keys,
        sentence * attended.tgt * attended.q_row + head * attended.d,
        attended.k_first + of_keys,
        attended.v_first + of_keys,
        sentence * attended.tgt * attended.out_row + head * attended.d,
    );
}

fn sees(h: Head, query: u32, key: u32) -> bool {
    return query < attended.tgt && key < h.keys && (attended.is_causal == 0u || key + attended.tgt <= query + attended.src);
}

// The key after the last one that a query before `end` sees.
fn last_key(h: Head, end: u32) -> u32 {
    if (attended.is_causal == 0u) {
        return h.keys;
    }
    let reached = min(end, attended.tgt) + attended.src;
    return min(h.keys, select(0u, reached - attended.tgt, reached > attended.tgt));
}

fn index_of(h: Head, query: u32) -> u32 {
    return (h.sentence * attended.heads + h.head) * attended.tgt + query;
}

// Four neighboring elements from `at` on, of which those from column `column` on belong to a head.
fn quad0(at: u32, column: u32) -> vec4<f32> {
    var found = vec4<f32>();
    for (var c = 0u; c < 4u && column + c < attended.d; c++) {
        found[c] = a0[at + column + c];
    }
    return found;
}

fn quad1(at: u32, column: u32) -> vec4<f32> {
    var found = vec4<f32>();
    for (var c = 0u; c < 4u && column + c < attended.d; c++) {
        found[c] = a1[at + column + c];
    }
    return found;
}

fn quad4(at: u32, column: u32) -> vec4<f32> {
    var found = vec4<f32>();
    for (var c = 0u; c < 4u && column + c < attended.d; c++) {
        found[c] = a4[at + column + c];
    }
    return found;
}

// The products of row y of `left` with four rows of `right`.
fn products(x: u32, y: u32) -> vec4<f32> {
    var sums = vec4<f32>();
    for (var c = 0u; c < QUADS; c++) {
        let l = left[y * ROW + c];
        sums += vec4<f32>(
            dot(l, right[x * ROW + c]),
            dot(l, right[(x + 8u) * ROW + c]),
            dot(l, right[(x + 16u) * ROW + c]),
            dot(l, right[(x + 24u) * ROW + c]),
        );
    }
    return sums;
}

// The scaled scores with their bias; those of hidden keys are not to be used.
fn scores(h: Head, query: u32, key: u32, x: u32, y: u32) -> vec4<f32> {
    var sums = vec4<f32>();
    for (var column = 0u; column < attended.d; column += BLOCK) {
        workgroupBarrier();
        left[y * ROW + x] = vec4<f32>();
        right[y * ROW + x] = vec4<f32>();
        if (query + y < attended.tgt) {
            left[y * ROW + x] = quad0(h.q + (query + y) * attended.q_row, column + 4u * x);
        }
        if (key + y < h.keys) {
            right[y * ROW + x] = quad1(h.k + (key + y) * attended.kv_row, column + 4u * x);
        }
        workgroupBarrier();
        sums += products(x, y);
    }
    sums *= attended.scale;
    if (attended.has_bias != 0u && query + y < attended.tgt) {
        for (var c = 0u; c < 4u; c++) {
            let j = key + x + 8u * c;
            if (j < attended.src) {
                sums[c] += a3[(h.head * attended.tgt + query + y) * attended.src + j];
            }
        }
    }
    return sums;
}

// The gradients of the weights after dropout: products of gradients of results with values.
fn weight_gradients(h: Head, query: u32, key: u32, x: u32, y: u32) -> vec4<f32> {
    var sums = vec4<f32>();
    for (var column = 0u; column < attended.d; column += BLOCK) {
        workgroupBarrier();
        left[y * ROW + x] = vec4<f32>();
        right[y * ROW + x] = vec4<f32>();
        if (query + y < attended.tgt) {
            left[y * ROW + x] = quad4(h.out + (query + y) * attended.out_row, column + 4u * x);
        }
        if (key + y < h.keys) {
            right[y * ROW + x] = quad1(h.v + (key + y) * attended.kv_row, column + 4u * x);
        }
        workgroupBarrier();
        sums += products(x, y);
    }
    return sums;
}

// The factors of dropout of the weights of four keys. Keys that are 8 apart often share a draw.
fn factors(h: Head, query: u32, key: u32) -> vec4<f32> {
    var found = vec4<f32>(1.0, 1.0, 1.0, 1.0);
    if (attended.has_dropout == 0u) {
        return found;
    }
    var drawn = 0xFFFFFFFFu;
    var words = vec4<u32>();
    for (var c = 0u; c < 4u; c++) {
        let number = index_of(h, query) * attended.src + key + 8u * c;
        if (number / 64u != drawn) {
            drawn = number / 64u;
            words = draw(attended.mask, drawn * 8u + number % 8u);
        }
        found[c] = factor_of(attended.mask, words, number % 64u);
    }
    return found;
}

fn visible(h: Head, query: u32, key: u32) -> vec4<bool> {
    return vec4<bool>(
        sees(h, query, key),
        sees(h, query, key + 8u),
        sees(h, query, key + 16u),
        sees(h, query, key + 24u),
    );
}

fn put(x: u32, y: u32, found: vec4<f32>) {
    for (var c = 0u; c < 4u; c++) {
        tile[y * SCORES + x + 8u * c] = found[c];
    }
}

// Σ over the keys j of tile[y][j] · key j or value j, whichever of them begin at `first`, for four columns.
fn sum_over_keys(h: Head, first: u32, key: u32, column: u32, x: u32, y: u32) -> vec4<f32> {
    workgroupBarrier();
    right[y * ROW + x] = vec4<f32>();
    if (key + y < h.keys) {
        right[y * ROW + x] = quad1(first + (key + y) * attended.kv_row, column + 4u * x);
    }
    workgroupBarrier();
    var sum = vec4<f32>();
    for (var j = 0u; j < BLOCK; j++) {
        sum += tile[y * SCORES + j] * right[j * ROW + x];
    }
    return sum;
}

// Σ over the queries i of tile[i][y] · gradient of result i, for four columns.
fn sum_of_gradients(h: Head, query: u32, column: u32, x: u32, y: u32) -> vec4<f32> {
    workgroupBarrier();
    left[y * ROW + x] = vec4<f32>();
    if (query + y < attended.tgt) {
        left[y * ROW + x] = quad4(h.out + (query + y) * attended.out_row, column + 4u * x);
    }
    workgroupBarrier();
    var sum = vec4<f32>();
    for (var i = 0u; i < BLOCK; i++) {
        sum += tile[i * SCORES + y] * left[i * ROW + x];
    }
    return sum;
}

fn sum_of_queries(h: Head, query: u32, column: u32, x: u32, y: u32) -> vec4<f32> {
    workgroupBarrier();
    left[y * ROW + x] = vec4<f32>();
    if (query + y < attended.tgt) {
        left[y * ROW + x] = quad0(h.q + (query + y) * attended.q_row, column + 4u * x);
    }
    workgroupBarrier();
    var sum = vec4<f32>();
    for (var i = 0u; i < BLOCK; i++) {
        sum += other_tile[i * SCORES + y] * left[i * ROW + x];
    }
    return sum;
}

// The largest score of a query, the sum of the exponentials of all scores less it, and the factor of earlier sums.
struct Softmax {
    top: f32,
    sum: f32,
    keep: f32,
}

// Adds a block of keys, and puts their weights, which are not divided yet, into the tile.
fn with_block(before: Softmax, h: Head, query: u32, key: u32, x: u32, y: u32) -> Softmax {
    let found = scores(h, query, key, x, y);
    let seen = visible(h, query + y, key + x);
    put(x, y, select(vec4<f32>(HIDDEN), found, seen));
    workgroupBarrier();
    var top = before.top;
    for (var j = 0u; j < BLOCK; j++) {
        top = max(top, tile[y * SCORES + j]);
    }
    let weights = select(vec4<f32>(), exp(found - top), seen);
    workgroupBarrier();
    put(x, y, weights);
    workgroupBarrier();
    var sum = 0.0;
    for (var j = 0u; j < BLOCK; j++) {
        sum += tile[y * SCORES + j];
    }
    let keep = exp(before.top - top);
    if (attended.has_dropout != 0u) {
        workgroupBarrier();
        put(x, y, weights * factors(h, query + y, key + x));
    }
    return Softmax(top, before.sum * keep + sum, keep);
}

fn inverse_of(sum: f32) -> f32 {
    return select(0.0, 1.0 / sum, sum > 0.0 || sum != sum);
}

fn write4(at: u32, column: u32, found: vec4<f32>) {
    for (var c = 0u; c < 4u && column + c < attended.d; c++) {
        o4[at + column + c] = found[c];
    }
}

fn write6(at: u32, column: u32, found: vec4<f32>) {
    for (var c = 0u; c < 4u && column + c < attended.d; c++) {
        o6[at + column + c] = found[c];
    }
}

@compute @workgroup_size(256)
fn attention(INVOCATION) {
    let blocks = (attended.tgt + BLOCK - 1u) / BLOCK;
    let number = number_of(group, groups);
    if (number >= blocks * attended.heads * attended.batch) {
        return;
    }
    let h = head_of(number / blocks / attended.heads, number / blocks % attended.heads);
    let query = number % blocks * BLOCK;
    let x = lane % 8u;
    let y = lane / 8u;
    var softmax = Softmax(HIDDEN, 0.0, 1.0);
    EACH var sum_CHUNK = vec4<f32>();
    let end = last_key(h, query + BLOCK);
    for (var key = 0u; key < end; key += BLOCK) {
        softmax = with_block(softmax, h, query, key, x, y);
        EACH sum_CHUNK = sum_CHUNK * softmax.keep + sum_over_keys(h, h.v, key, CHUNKu * BLOCK, x, y);
    }
    if (query + y < attended.tgt) {
        let inverse = inverse_of(softmax.sum);
        let at = h.out + (query + y) * attended.out_row;
        EACH write4(at, CHUNKu * BLOCK + 4u * x, sum_CHUNK * inverse);
    }
}

// What the gradients need of each query: the logarithm of the sum of the exponentials of its scores, and the product of its
// result with the gradient.
@compute @workgroup_size(256)
fn attention_sums(INVOCATION) {
    let blocks = (attended.tgt + BLOCK - 1u) / BLOCK;
    let number = number_of(group, groups);
    if (number >= blocks * attended.heads * attended.batch) {
        return;
    }
    let h = head_of(number / blocks / attended.heads, number / blocks % attended.heads);
    let query = number % blocks * BLOCK;
    let x = lane % 8u;
    let y = lane / 8u;
    var softmax = Softmax(HIDDEN, 0.0, 1.0);
    EACH var sum_CHUNK = vec4<f32>();
    let end = last_key(h, query + BLOCK);
    for (var key = 0u; key < end; key += BLOCK) {
        softmax = with_block(softmax, h, query, key, x, y);
        EACH sum_CHUNK = sum_CHUNK * softmax.keep + sum_over_keys(h, h.v, key, CHUNKu * BLOCK, x, y);
    }
    var product = 0.0;
    if (query + y < attended.tgt) {
        let at = h.out + (query + y) * attended.out_row;
        EACH product += dot(sum_CHUNK, quad4(at, CHUNKu * BLOCK + 4u * x));
    }
    workgroupBarrier();
    tile[y * SCORES + x] = product;
    workgroupBarrier();
    if (query + y < attended.tgt && x == 0u) {
        product = 0.0;
        for (var j = 0u; j < 8u; j++) {
            product += tile[y * SCORES + j];
        }
        let at = 2u * index_of(h, query + y);
        o5[at] = softmax.top + log(max(softmax.sum, 1e-38));
        o5[at + 1u] = product * inverse_of(softmax.sum);
    }
}

// The weights of four keys after dropout, and the gradients of their scores before they are scaled.
struct Gradients {
    weights: vec4<f32>,
    scores: vec4<f32>,
}

fn gradients(h: Head, query: u32, key: u32, x: u32, y: u32) -> Gradients {
    let found = scores(h, query, key, x, y);
    let of_weights = weight_gradients(h, query, key, x, y);
    let at = 2u * index_of(h, min(query + y, attended.tgt - 1u));
    let weights = select(vec4<f32>(), exp(found - a5[at]), visible(h, query + y, key + x));
    let kept = factors(h, query + y, key + x);
    return Gradients(weights * kept, weights * (of_weights * kept - a5[at + 1u]));
}

@compute @workgroup_size(256)
fn attention_queries(INVOCATION) {
    let blocks = (attended.tgt + BLOCK - 1u) / BLOCK;
    let number = number_of(group, groups);
    if (number >= blocks * attended.heads * attended.batch) {
        return;
    }
    let h = head_of(number / blocks / attended.heads, number / blocks % attended.heads);
    let query = number % blocks * BLOCK;
    let x = lane % 8u;
    let y = lane / 8u;
    EACH var sum_CHUNK = vec4<f32>();
    let end = last_key(h, query + BLOCK);
    for (var key = 0u; key < end; key += BLOCK) {
        put(x, y, gradients(h, query, key, x, y).scores);
        EACH sum_CHUNK += sum_over_keys(h, h.k, key, CHUNKu * BLOCK, x, y);
    }
    if (query + y < attended.tgt) {
        let at = h.q + (query + y) * attended.q_row;
        EACH write6(at, CHUNKu * BLOCK + 4u * x, sum_CHUNK * attended.scale);
    }
}

@compute @workgroup_size(256)
fn attention_keys(INVOCATION) {
    let blocks = (attended.src + BLOCK - 1u) / BLOCK;
    let number = number_of(group, groups);
    if (number >= blocks * attended.kv_heads * attended.batch) {
        return;
    }
    let sentence = number / blocks / attended.kv_heads;
    let sharing = attended.heads / attended.kv_heads;
    let first = number / blocks % attended.kv_heads * sharing;
    let key = number % blocks * BLOCK;
    let x = lane % 8u;
    let y = lane / 8u;
    EACH var keys_CHUNK = vec4<f32>();
    EACH var values_CHUNK = vec4<f32>();
    for (var head = first; head < first + sharing; head++) {
        let h = head_of(sentence, head);
        for (var query = 0u; query < attended.tgt; query += BLOCK) {
            if (last_key(h, query + BLOCK) <= key) {
                continue;
            }
            let found = gradients(h, query, key, x, y);
            put(x, y, found.weights);
            for (var c = 0u; c < 4u; c++) {
                other_tile[y * SCORES + x + 8u * c] = found.scores[c];
            }
            EACH values_CHUNK += sum_of_gradients(h, query, CHUNKu * BLOCK, x, y);
            EACH keys_CHUNK += sum_of_queries(h, query, CHUNKu * BLOCK, x, y);
        }
    }
    if (key + y < attended.src) {
        let h = head_of(sentence, first);
        let at = (key + y) * attended.kv_row;
        EACH write6(h.k + at, CHUNKu * BLOCK + 4u * x, keys_CHUNK * attended.scale);
        EACH write6(h.v + at, CHUNKu * BLOCK + 4u * x, values_CHUNK);
    }
}

@compute @workgroup_size(256)
fn attention_bias(INVOCATION) {
    let of_keys = (attended.src + BLOCK - 1u) / BLOCK;
    let blocks = (attended.tgt + BLOCK - 1u) / BLOCK * of_keys;
    let number = number_of(group, groups);
    if (number >= blocks * attended.heads) {
        return;
    }
    let head = number / blocks;
    let query = number % blocks / of_keys * BLOCK;
    let key = number % of_keys * BLOCK;
    let x = lane % 8u;
    let y = lane / 8u;
    var sum = vec4<f32>();
    for (var sentence = 0u; sentence < attended.batch; sentence++) {
        let h = head_of(sentence, head);
        sum += gradients(h, query, key, x, y).scores;
    }
    for (var c = 0u; c < 4u; c++) {
        let j = key + x + 8u * c;
        if (query + y < attended.tgt && j < attended.src) {
            o6[(head * attended.tgt + query + y) * attended.src + j] = sum[c];
        }
    }
}
