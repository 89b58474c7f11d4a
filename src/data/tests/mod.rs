mod batching;
mod reading;
mod streams;
