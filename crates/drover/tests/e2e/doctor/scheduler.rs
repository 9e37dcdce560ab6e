//! What `drover doctor` says of devices and their schedulers.
