// The nearest bfloat16; of two that are equally near, the one with an even last bit.
fn operand(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    if ((bits & 0x7F800000u) == 0x7F800000u) {
        return x;
    }
    return bitcast<f32>((bits + 0x7FFFu + ((bits >> 16u) & 1u)) & 0xFFFF0000u);
}
