"""What does the work of stages: processes of this machine, and shards on clusters."""
