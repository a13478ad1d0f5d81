"""One module per kind of hostile input: the code under test, and a generator of inputs."""
