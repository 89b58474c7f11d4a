// Columns and rows that are copied, and tables that are added to sequences.
struct Columns {
    n: u32,
    count: u32,
    from_width: u32,
    from_first: u32,
    to_width: u32,
    to_first: u32,
}
var<immediate> columns: Columns;

@compute @workgroup_size(256)
fn copy_columns(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < columns.n) {
        let row = i / columns.count;
        let column = i % columns.count;
        o1[row * columns.to_width + columns.to_first + column] =
            a0[row * columns.from_width + columns.from_first + column];
    }
}

struct Selected {
    n: u32,
    d: u32,
    // The distance of neighboring rows and columns of the result.
    row: u32,
    column: u32,
}
var<immediate> selected: Selected;

// Row i of the result is the row u1[i].
@compute @workgroup_size(256)
fn select_rows(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < selected.n) {
        let row = i / selected.d;
        let column = i % selected.d;
        o2[row * selected.row + column * selected.column] = a0[u1[row] * selected.d + column];
    }
}

// Row u1[i] of the result is row i.
@compute @workgroup_size(256)
fn scatter_rows(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < selected.n) {
        let row = i / selected.d;
        let column = i % selected.d;
        o2[u1[row] * selected.d + column] = a0[i];
    }
}

struct Each {
    n: u32,
    first: u32,
    len: u32,
    sequences: u32,
}
var<immediate> each: Each;

@compute @workgroup_size(256)
fn add_to_each(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < each.n) {
        o1[i] += a0[each.first + i % each.len];
    }
}

@compute @workgroup_size(256)
fn sum_of_each(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < each.n) {
        var sum = 0.0;
        if (i >= each.first && i - each.first < each.len) {
            for (var sequence = 0u; sequence < each.sequences; sequence++) {
                sum += a0[sequence * each.len + i - each.first];
            }
        }
        o1[i] = sum;
    }
}

struct Gathered {
    n: u32,
    d: u32,
    // The distance of neighboring rows and columns of the terms.
    row: u32,
    column: u32,
    scale: f32,
}
var<immediate> gathered: Gathered;

// Row u1[i] of the result += scale times the rows u3[u2[i]..u2[i + 1]], one after the other.
@compute @workgroup_size(256)
fn add_gathered(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < gathered.n) {
        let number = i / gathered.d;
        let column = i % gathered.d;
        let at = u1[number] * gathered.d + column;
        var sum = o4[at];
        for (var place = u2[number]; place < u2[number + 1u]; place++) {
            sum += a0[u3[place] * gathered.row + column * gathered.column] * gathered.scale;
        }
        o4[at] = sum;
    }
}

struct Means {
    n: u32,
    d: u32,
    width: u32,
}
var<immediate> means: Means;

@compute @workgroup_size(256)
fn mean_rows(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < means.n) {
        let row = i / means.d;
        let len = u1[row];
        let share = 1.0 / f32(max(len, 1u));
        var sum = 0.0;
        for (var position = 0u; position < len; position++) {
            sum += a0[(row * means.width + position) * means.d + i % means.d] * share;
        }
        o2[i] = sum;
    }
}

@compute @workgroup_size(256)
fn mean_rows_backward(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < means.n) {
        let position = i / means.d;
        let row = position / means.width;
        let len = u1[row];
        let share = 1.0 / f32(max(len, 1u));
        o2[i] = select(0.0, a0[row * means.d + i % means.d] * share, position % means.width < len);
    }
}

struct Turned {
    n: u32,
    width: u32,
    pairs: u32,
    heads: u32,
    // Rows of a sequence; 0 if each row has a position.
    len: u32,
    back: u32,
}
var<immediate> turned: Turned;

// a1 has the cosines and the sines of each position, u2 the positions.
@compute @workgroup_size(256)
fn rotary(INVOCATION) {
    let i = element(group, groups, lane);
    if (i >= turned.n) {
        return;
    }
    let row = i / turned.width;
    let column = i % turned.width;
    if (column >= 2u * turned.pairs * turned.heads) {
        o3[i] = a0[i];
        return;
    }
    var position = 0u;
    if (turned.len != 0u) {
        position = row % turned.len;
    } else {
        position = u2[row];
    }
    let inside = column % (2u * turned.pairs);
    let pair = inside % turned.pairs;
    let cosine = a1[2u * position * turned.pairs + pair];
    var sine = a1[(2u * position + 1u) * turned.pairs + pair];
    if (turned.back != 0u) {
        sine = -sine;
    }
    if (inside < turned.pairs) {
        o3[i] = a0[i] * cosine - a0[i + turned.pairs] * sine;
    } else {
        o3[i] = a0[i] * cosine + a0[i - turned.pairs] * sine;
    }
}

struct Put {
    n: u32,
    count: u32,
    width: u32,
    first: u32,
}
var<immediate> put: Put;

// Columns of row u1[2i] of a0 become row u1[2i + 1] of o2.
@compute @workgroup_size(256)
fn put_rows(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < put.n) {
        let pair = i / put.count;
        let column = i % put.count;
        o2[u1[2u * pair + 1u] * put.count + column] = a0[u1[2u * pair] * put.width + put.first + column];
    }
}
