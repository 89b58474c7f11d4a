mod batching;
mod labeled;
mod lines;
mod masking;
mod reading;
mod stream;
mod tagged;
