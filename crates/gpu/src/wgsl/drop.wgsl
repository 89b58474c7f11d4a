struct Dropped {
    mask: Mask,
    n: u32,
    has_residual: u32,
}
var<immediate> dropped: Dropped;

// An invocation has the eight elements of a draw.
@compute @workgroup_size(256)
fn dropout(INVOCATION) {
    let block = element(group, groups, lane);
    let first = block / 8u * 64u + block % 8u;
    if (first >= dropped.n) {
        return;
    }
    let words = draw(dropped.mask, block);
    for (var inside = 0u; inside < 64u; inside += 8u) {
        let i = first + inside;
        if (i < dropped.n) {
            o0[i] *= factor_of(dropped.mask, words, inside);
        }
    }
}

@compute @workgroup_size(256)
fn dropout_add(INVOCATION) {
    let block = element(group, groups, lane);
    let first = block / 8u * 64u + block % 8u;
    if (first >= dropped.n) {
        return;
    }
    let words = draw(dropped.mask, block);
    for (var inside = 0u; inside < 64u; inside += 8u) {
        let i = first + inside;
        if (i < dropped.n) {
            let kept = a0[i] * factor_of(dropped.mask, words, inside);
            if (dropped.has_residual != 0u) {
                o2[i] = a1[i] + kept;
            } else {
                o2[i] = kept;
            }
        }
    }
}
