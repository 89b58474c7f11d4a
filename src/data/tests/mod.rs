mod batching;
mod labelled;
mod lines;
mod masking;
mod reading;
mod stream;
mod tagged;
