use attentive_device::on;

use super::*;

#[test]
fn a_buffer_larger_than_the_largest_is_a_failure_and_not_the_end() {
    let Some(gpu) = gpu() else {
        return;
    };
    let largest = gpu.adapter().largest_buffer / 4;
    let too_large = usize::try_from(largest + 1).expect("sizes are those of the machine");
    let failed = Failure::caught(|| on(gpu, || Buffer::take(too_large)));
    let problem = failed.expect_err("it does not fit").problem;
    assert!(problem.contains("does not fit into a buffer"), "{problem}");
    let later = on(gpu, || random(1, 5).into_vec());
    assert_eq!(later, numbers(1, 5));
    assert!(gpu.failure().is_none());
}

#[test]
fn numbers_in_bf16_take_half_of_the_memory() {
    const D: usize = 8;
    let Some(gpu) = gpu() else {
        return;
    };
    let largest = gpu.adapter().largest_buffer;
    if largest > 1 << 28 {
        println!("skipped: the largest buffer of this GPU would fill much of its memory");
        return;
    }
    // More than fit in f32.
    let rows = usize::try_from(largest / 4).expect("sizes are those of the machine") / D + 100;
    let mut values = vec![0.0; rows * D];
    values[(rows - 1) * D..].copy_from_slice(&[1.5; D]);
    let found = on(gpu, || {
        let table = gpu.upload_bf16(values);
        let mut out = room(D);
        crate::current().embedding(&[rows as u32 - 1], &table, D, 1.0, None, &mut out);
        out.into_vec()
    });
    assert_eq!(found, [1.5; D]);
}

#[test]
fn memory_that_is_reused_is_not_overwritten_by_uploads() {
    let Some(gpu) = gpu() else {
        return;
    };
    on(gpu, || {
        // Each sum is recorded before its terms are dropped, and the next terms are uploaded to their memory.
        let mut total = Buffer::zeros(1000);
        for number in 0..300 {
            crate::current().add(&mut total, &vec![number as f32; 1000].into());
        }
        assert_eq!(total.into_vec(), [44_850.0; 1000]);
    });
}
