"""Build datasets and ordered streams of items (StreamBench, section 3)."""
