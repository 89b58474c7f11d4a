// The row of a step of a sequence in matrices with a row for each position.
fn row_of(sequence: u32, len: u32, width: u32, step: u32, is_backward: bool) -> u32 {
    return sequence * width + select(step, len - 1u - step, is_backward);
}
