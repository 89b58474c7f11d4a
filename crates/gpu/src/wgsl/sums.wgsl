// Sums of columns: of 64 rows each, and then of those sums.
struct Columns {
    rows: u32,
    columns: u32,
    first: u32,
    stride: u32,
    accumulates: u32,
}
var<immediate> columns: Columns;

@compute @workgroup_size(64)
fn column_parts(INVOCATION) {
    let column = group.x * 64u + lane;
    if (column >= columns.columns) {
        return;
    }
    let last = min(columns.rows, group.y * 64u + 64u);
    var sum = 0.0;
    for (var row = group.y * 64u; row < last; row++) {
        sum += a0[columns.first + row * columns.stride + column];
    }
    o1[group.y * columns.columns + column] = sum;
}

@compute @workgroup_size(64)
fn column_totals(INVOCATION) {
    let column = group.x * 64u + lane;
    if (column >= columns.columns) {
        return;
    }
    var sum = 0.0;
    for (var row = 0u; row < columns.rows; row++) {
        sum += a0[columns.first + row * columns.stride + column];
    }
    if (columns.accumulates != 0u) {
        sum += o1[column];
    }
    o1[column] = sum;
}
