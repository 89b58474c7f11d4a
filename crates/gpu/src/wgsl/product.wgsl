// o3 (+)= left · right (+ bias, ReLU), in tiles. TX, TY, QM and QN are defined before: a workgroup of TX × TY invocations has a
// tile of 4·TY·QM rows and 4·TX·QN columns, and an invocation 4·QM × 4·QN sums in registers. `right_number`, which is defined
// before too, reads the right operand. Each sum is one chain of `fma` over k from 0 on, so that it is the same in tiles of every
// size.
struct Product {
    m: u32,
    n: u32,
    k: u32,
    accumulates: u32,
    has_bias: u32,
    relu: u32,
    left_first: u32,
    left_row: u32,
    left_column: u32,
    right_first: u32,
    right_row: u32,
    right_column: u32,
    out_first: u32,
    out_row: u32,
}
var<immediate> product_of: Product;

const TK = 16u;
const THREADS = TX * TY;
// One more than needed: neighboring rows of a tile begin in different banks.
const LEFT = TY * QM + 1u;
const RIGHT = TX * QN + 1u;

var<workgroup> left_tile: array<vec4<f32>, TK * LEFT>;
var<workgroup> right_tile: array<vec4<f32>, TK * RIGHT>;

fn left_at(row: u32, l: u32) -> f32 {
    if (row < product_of.m && l < product_of.k) {
        return operand(a0[product_of.left_first + row * product_of.left_row + l * product_of.left_column]);
    }
    return 0.0;
}

fn right_at(l: u32, column: u32) -> f32 {
    if (column < product_of.n && l < product_of.k) {
        return operand(right_number(product_of.right_first + l * product_of.right_row + column * product_of.right_column));
    }
    return 0.0;
}

fn load(row: u32, column: u32, start: u32, lane: u32) {
    for (var number = lane; number < TK * TY * QM; number += THREADS) {
        // Neighboring invocations read neighboring elements, whichever way the operand lies.
        var l = number % TK;
        var quad = number / TK;
        if (product_of.left_column != 1u) {
            l = number / (TY * QM);
            quad = number % (TY * QM);
        }
        let i = row + 4u * quad;
        let k = start + l;
        left_tile[l * LEFT + quad] =
            vec4<f32>(left_at(i, k), left_at(i + 1u, k), left_at(i + 2u, k), left_at(i + 3u, k));
    }
    for (var number = lane; number < TK * TX * QN; number += THREADS) {
        var l = number % TK;
        var quad = number / TK;
        if (product_of.right_row != 1u) {
            l = number / (TX * QN);
            quad = number % (TX * QN);
        }
        let j = column + 4u * quad;
        let k = start + l;
        right_tile[l * RIGHT + quad] =
            vec4<f32>(right_at(k, j), right_at(k, j + 1u), right_at(k, j + 2u), right_at(k, j + 3u));
    }
}

fn store(row: u32, column: u32, sums: vec4<f32>) {
    if (row >= product_of.m) {
        return;
    }
    for (var c = 0u; c < 4u; c++) {
        let j = column + c;
        if (j < product_of.n) {
            let at = product_of.out_first + row * product_of.out_row + j;
            var sum = sums[c];
            if (product_of.has_bias != 0u) {
                sum += a2[j];
            }
            if (product_of.relu != 0u) {
                sum = max(sum, 0.0);
            }
            if (product_of.accumulates != 0u) {
                sum += o3[at];
            }
            o3[at] = sum;
        }
    }
}

@compute @workgroup_size(THREADS)
fn product(INVOCATION) {
    let row = group.y * 4u * TY * QM;
    let column = group.x * 4u * TX * QN;
    let y = lane / TX;
    let x = lane % TX;
    SUMS
    for (var start = 0u; start < product_of.k; start += TK) {
        load(row, column, start, lane);
        workgroupBarrier();
        for (var l = 0u; l < TK; l++) {
            STEP
        }
        workgroupBarrier();
    }
    STORE
}
