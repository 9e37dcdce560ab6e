//! What `drover doctor` says of what a newer server does not have.
