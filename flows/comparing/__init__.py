"""Support `benchloom compare`: resolve the names A and B, and pair their scored rows."""
