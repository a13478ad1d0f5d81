"""StreamBench: agents that improve over a stream of inputs and one-bit feedback."""
