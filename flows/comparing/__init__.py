"""Support `benchloom compare`: resolve the names of the sides, and pair their scored rows."""
