"""Run methods over streams (StreamBench, section 4)."""
