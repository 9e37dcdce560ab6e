//! What `drover doctor` says of servers and hosts at large.
