"""StreamBench: agents that improve over a stream of inputs with one-bit feedback."""
