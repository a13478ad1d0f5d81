"""Read database schemas and contents, and run model-written SQL safely."""
