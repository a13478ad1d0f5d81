"""`benchloom compare`: what A and B name, and which of their scored rows stand against each other."""
