"""Run the work of stages in local processes, or as shards on clusters."""
