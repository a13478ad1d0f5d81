"""What runs, in which order. The only part that knows Prefect and DVC."""

import time

STARTED = time.time()
"""When this process began to import Benchloom: a module edited later is not the one that runs."""
