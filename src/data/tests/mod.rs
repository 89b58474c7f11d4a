mod batching;
mod reading;
