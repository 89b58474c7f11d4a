struct Loss {
    rows: u32,
    classes: u32,
    smoothing: f32,
    differentiates: u32,
}
var<immediate> loss: Loss;

struct RowLosses {
    rows: u32,
    // The share of the target in the wanted distribution, and that of every class.
    keep: f32,
    share: f32,
}
var<immediate> row_losses: RowLosses;

// Adds the loss of the rows, whose numbers row_loss has written to a0, to o2. u1 has their targets, then their weights.
@compute @workgroup_size(128)
fn loss_of_rows(INVOCATION) {
    var sum = 0.0;
    for (var row = lane; row < row_losses.rows; row += LANES) {
        var one = log(a0[4u * row + 2u]) - row_losses.keep * a0[4u * row];
        if (row_losses.share != 0.0) {
            one -= row_losses.share * a0[4u * row + 1u];
        }
        sum += bitcast<f32>(u1[row_losses.rows + row]) * one;
    }
    sum = total(sum, lane);
    if (lane == 0u) {
        o2[0] += sum;
    }
}

// The numbers from which the host computes the loss of a row of logits, o0, whose target and, after all targets, weight is in u1; o2 has four for each row:
// the logit of the target and the sum of all, both less the largest, the sum of the exponentials, and whether the first of the
// largest is the target. The logits are replaced by their gradient if it is wanted.
@compute @workgroup_size(128)
fn row_loss(INVOCATION) {
    let row = number_of(group, groups);
    if (row >= loss.rows) {
        return;
    }
    let at = row * loss.classes;
    let wanted = u1[row];
    var top = o0[at];
    for (var j = lane; j < loss.classes; j += LANES) {
        top = max(top, o0[at + j]);
    }
    top = largest(top, lane);
    var before = 0.0;
    var sum = 0.0;
    var exponentials = 0.0;
    for (var j = lane; j < loss.classes; j += LANES) {
        let logit = o0[at + j] - top;
        if (j < wanted && logit == 0.0) {
            before = 1.0;
        }
        sum += logit;
        exponentials += exp(logit);
    }
    before = largest(before, lane);
    sum = total(sum, lane);
    exponentials = total(exponentials, lane);
    if (lane == 0u) {
        let logit = o0[at + wanted] - top;
        o2[4u * row] = logit;
        o2[4u * row + 1u] = sum;
        o2[4u * row + 2u] = exponentials;
        o2[4u * row + 3u] = select(0.0, 1.0, logit == 0.0 && before == 0.0);
    }
    if (loss.differentiates == 0u) {
        return;
    }
    storageBarrier();
    let inverse = 1.0 / exponentials;
    let weight = bitcast<f32>(u1[loss.rows + row]);
    let share = loss.smoothing / f32(loss.classes);
    for (var j = lane; j < loss.classes; j += LANES) {
        let hot = select(0.0, 1.0 - loss.smoothing, j == wanted);
        o0[at + j] = weight * (exp(o0[at + j] - top) * inverse - share - hot);
    }
}
