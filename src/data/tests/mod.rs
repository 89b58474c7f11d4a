mod batching;
mod masking;
mod reading;
mod stream;
mod tagged;
