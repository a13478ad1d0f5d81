"""Programs that must reach nothing and end in their limits.

In each, `{port}` is a listener on this machine's loopback, `{name}` an abstract socket's name, `{secret}`
a file outside of the sandbox, `{pid}` the tests' own process. A program that gets what it wants ends as
`correct` would, so that no other ending than those named may come.
"""

from __future__ import annotations

LIBC = "import ctypes, os; libc = ctypes.CDLL(None, use_errno=True); "
FAIL = "\nassert False, 'refused'"

PROGRAMS: dict[str, tuple[str, set[str]]] = {
    "connect to loopback": ("import socket; socket.create_connection(('127.0.0.1', {port}), 1)", {"error"}),
    "send a datagram": ("import socket; socket.socket(2, 2).sendto(b'x', ('198.51.100.1', 9))", {"error"}),
    "look a name up": ("import socket; socket.getaddrinfo('example.org', 80)", {"error"}),
    "fetch a page": (
        "import urllib.request as r; r.urlopen('http://127.0.0.1:{port}/', timeout=1)",
        {"error"},
    ),
    "raw socket": ("import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)", {"error"}),
    "abstract socket": ("import socket; s = socket.socket(1); s.connect('\\0{name}')", {"error"}),
    "fork bomb": ("import os\nwhile True: os.fork()", {"error", "timeout"}),
    "fork bomb that goes on": (
        "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass",
        {"timeout", "error"},
    ),
    "threads": (
        "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(60,)).start()",
        {"error", "timeout"},
    ),
    "shells": (
        "import subprocess\nwhile True: subprocess.Popen(['/bin/sh', '-c', 'sleep 60'])",
        {"error", "timeout"},
    ),
    "a block of memory": ("x = bytearray(3 << 30)", {"error"}),
    "a growing list": ("x = []\nwhile True: x.append(bytearray(1 << 24))", {"error", "memory"}),
    "memory in children": (
        "import os, time\nfor _ in range(8):\n  if not os.fork():\n    x = b'x' * (60 << 20)\n"
        "    time.sleep(60)\n"
        "time.sleep(60)",
        {"memory"},
    ),
    "shared memory": (
        "import mmap, os, time\nfor _ in range(8):\n  if not os.fork():\n    m = mmap.mmap(-1, 60 << 20)\n"
        "    m.write(b'x' * len(m)); time.sleep(60)\ntime.sleep(60)",
        {"memory"},
    ),
    "System V memory": (f"{LIBC}assert libc.shmget(0, 1 << 28, 0o1600) >= 0", {"wrong"}),
    "memory as a file": ("import os; os.memfd_create('x')", {"error"}),
    "/dev/shm": ("open('/dev/shm/x', 'w')", {"error"}),
    "a bomb of zeros": (
        "import zlib\nx = zlib.compress(bytes(1 << 26))\ny = b''.join(zlib.decompress(x) for _ in range(40))",
        {"error", "memory"},
    ),
    "endless loop": ("while True: pass", {"timeout"}),
    "sleep": ("import time; time.sleep(60)", {"timeout"}),
    "deaf to signals": (
        "import signal\nfor n in set(signal.Signals) - {9, 19}: signal.signal(n, signal.SIG_IGN)\n"
        "while True: pass",
        {"timeout"},
    ),
    "backtracking": ("import re; re.match('(a+)+b', 'a' * 40)", {"timeout"}),
    "a large power": ("9 ** 9 ** 9", {"timeout", "error"}),
    "read a file outside": ("open('{secret}').read()", {"error"}),
    "list the home": (
        "import os, pwd\nhome = '{home}'\nassert len(os.listdir(home)) > 2 and '.bashrc' in os.listdir(home)",
        {"wrong", "error"},
    ),
    "read the environment": ("import os; os.environ['SECRET_OF_TESTS']", {"error"}),
    "read another's environment": (
        "import glob\nfound = b''\nfor path in glob.glob('/proc/*/environ'):\n"
        "  try: found += open(path, 'rb').read()\n  except OSError: pass\nassert b'SECRET_OF_TESTS' in found",
        {"wrong"},
    ),
    "read passwords": ("open('/etc/shadow').read()", {"error"}),
    "write to the system": ("open('/usr/bin/evil', 'w')", {"error"}),
    "write to the root": ("open('/evil', 'w')", {"error"}),
    "write to devices": ("open('/dev/evil', 'w')", {"error"}),
    "write outside": ("open('{secret}', 'w').write('evil')", {"error"}),
    "write to the environment": (
        "import json, os; open(os.path.join(os.path.dirname(json.__file__), 'evil.py'), 'w')",
        {"error"},
    ),
    "write to the runner": ("open('/runner.py', 'a').write('evil')", {"error"}),
    "kernel settings": ("open('/proc/sys/vm/drop_caches', 'w').write('3')", {"error"}),
    "a large file": ("open('x', 'wb').write(bytes(1 << 26))", {"error"}),
    "a sparse file": ("open('x', 'wb').truncate(1 << 40)", {"error"}),
    "many files": (
        "for n in range(100): open(f'{{n}}', 'wb').write(bytes(4 << 20))".replace("{{n}}", "{n}"),
        {"error"},
    ),
    "open files": ("x = [open('/dev/null') for _ in range(1000)]", {"error"}),
    "kill the parent": ("import os; os.kill(os.getppid(), 9)" + FAIL, {"wrong", "error"}),
    "kill the first process": ("import os; os.kill(1, 9)" + FAIL, {"wrong", "error"}),
    "kill the tests": ("import os; os.kill({pid}, 9)", {"error"}),
    "kill everything": ("import os; os.kill(-1, 9)" + FAIL, {"wrong", "error"}),
    "ptrace": (f"{LIBC}assert libc.ptrace(16, 1, 0, 0) == 0", {"wrong"}),
    "read another's memory": ("open('/proc/1/mem', 'rb').read(1)", {"error"}),
    "symlink to a file outside": ("import os; os.symlink('{secret}', 'x'); open('x').read()", {"error"}),
    "symlink into the system": (
        "import os; os.symlink('/usr/bin', 'x'); open('x/evil', 'w')",
        {"error"},
    ),
    "symlinks in a ring": ("import os; os.symlink('b', 'a'); os.symlink('a', 'b'); open('a')", {"error"}),
    "another root": ("import os; os.chroot('/scratch')", {"error"}),
    "become root": ("import os; os.setuid(0)" + FAIL, {"error", "wrong"}),
    "a device of its own": (
        "import os, stat; os.mknod('x', 0o666 | stat.S_IFBLK, os.makedev(8, 0))",
        {"error"},
    ),
    "mount": (f"{LIBC}assert libc.mount(b'none', b'/scratch', b'tmpfs', 0, 0) == 0", {"wrong"}),
    "new namespaces": (f"{LIBC}assert libc.unshare(0x10000000) == 0", {"wrong"}),
    "raise its limits": (
        "import resource; resource.setrlimit(resource.RLIMIT_NPROC, (9999, 9999))",
        {"error"},
    ),
    "raise its priority": ("import os; os.setpriority(os.PRIO_PROCESS, 0, -20)", {"error"}),
    "flood where results go": ("import os\nwhile True: os.write(3, b'x' * 4096)", {"error"}),
    "forge a result": (
        'import os\nfor n in range(64):\n  try: os.write(n, b\'["", "correct", ""]\\n\')\n'
        "  except OSError: pass\nos._exit(0)",
        {"error"},
    ),
    "close everything": ("import os; os.closerange(0, 64)", {"error"}),
    "leave": ("import sys; sys.exit(0)", {"error"}),
    "leave at once": ("import os; os._exit(0)", {"error"}),
    "become another program": ("import os; os.execv('/bin/true', ['true'])", {"error"}),
    "abort": ("import os; os.abort()", {"error"}),
    "fall": ("import ctypes; ctypes.string_at(0)", {"error"}),
    "fall deep": (
        "import sys; sys.setrecursionlimit(10 ** 9)\nclass A:\n"
        "  def __repr__(self): return repr(self)\nrepr(A())",
        {"error", "timeout", "memory"},
    ),
    "no end of brackets": ("(" * 100_000, {"error"}),
    "a NUL": ("x = '\0'", {"error"}),
    "half a character": ("x = '\ud800'", {"error"}),
}
