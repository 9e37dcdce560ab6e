//! What `drover doctor` says of the binary log and of replicas.
