//! What `drover doctor` says of memory and allocators.
