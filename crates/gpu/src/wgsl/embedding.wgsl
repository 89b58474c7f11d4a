// Rows of a table, which `table_number` reads, and positions.
struct Looked {
    n: u32,
    d: u32,
    len: u32,
    scale: f32,
    has_positions: u32,
}
var<immediate> looked: Looked;

@compute @workgroup_size(256)
fn embedding(INVOCATION) {
    let i = element(group, groups, lane);
    if (i < looked.n) {
        let token = i / looked.d;
        let column = i % looked.d;
        var sum = table_number(u1[token] * looked.d + column) * looked.scale;
        if (looked.has_positions != 0u) {
            sum += a2[(token % looked.len) * looked.d + column];
        }
        o3[i] = sum;
    }
}
