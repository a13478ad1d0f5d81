"""Hostile programs for the sandbox of `score ds1000`: `code`, whose test needs an `answer`, or only an end.

In the code, `{port}` is a listener on loopback, `{name}` an abstract socket, `{secret}` a file outside of the
sandbox, `{home}` the home folder, and `{pid}` the process of the tests. A successful attack ends like a
`correct` program; the answer is random and secret for each program. Code that must answer begins with TOOLS.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tasks.scoring.sandbox import Sandbox, SandboxLimits
from tests.hostile.subject import Kind, Outcome, Subject

KEY = "KEY_OF_TESTS"
END = "def test_execution(code):\n  exec(code, {})\n"
ANSWERS = {
    "equal": "assert environment['result'] == ANSWER",
    "array": "np.testing.assert_array_equal(environment['result'], np.array([ANSWER] * 3))",
    "close": "assert np.allclose(environment['result'], float(int(ANSWER, 16) % 10**6))",
    "method": "assert environment['result'].strip().endswith(ANSWER)",
}
LIBRARIES = {"array": ["numpy"], "close": ["numpy"]}


class Programs:
    """Runs programs that must not reach a file, two sockets and a key."""

    limit_s = 4.0

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.secret = secrets.token_hex(16)
        self.file = folder / "secret.txt"
        self.file.write_text(self.secret)
        self.listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        self.name = f"benchloom-{os.getpid()}-{self.secret[:8]}"
        self.abstract.bind(f"\0{self.name}")
        self.abstract.listen()
        stack.enter_context(pytest.MonkeyPatch.context()).setenv(KEY, self.secret)
        self.folder, self.visits = folder, 0

    def throw(self, value: dict[str, Any]) -> Outcome:
        code = "".join(part if isinstance(part, str) else part[0] * part[1] for part in value["code"])
        for field, found in {
            "{port}": self.listener.getsockname()[1],
            "{name}": self.name,
            "{secret}": self.file,
            "{home}": Path.home(),
            "{pid}": os.getpid(),
            "{key}": KEY,
        }.items():
            code = code.replace(field, str(found))
        limits = SandboxLimits(seconds=value.get("seconds", self.limit_s), memory_mb=512)
        if answer := value.get("answer"):
            code = TOOLS + code
        ending = Sandbox(Path(sys.executable), limits).run(
            make_test(answer) if answer else END, code, LIBRARIES.get(answer, [])
        )
        if self.secret in ending.text:
            return Outcome("leaked", ending.text)
        return Outcome(ending.kind, f"{ending.kind}: {ending.text}")

    def look(self) -> object:
        for server in (self.listener, self.abstract):
            server.setblocking(False)
            while True:
                try:
                    server.accept()[0].close()
                except BlockingIOError:
                    break
                self.visits += 1
        return self.visits, self.file.read_text(), sorted(map(str, self.folder.iterdir()))


def make_test(answer: str) -> str:
    """Return the test program, which requires an answer."""
    return (
        f"{'import numpy as np' if answer in LIBRARIES else ''}\nANSWER = {secrets.token_hex(8)!r}\n"
        "def test_execution(code):\n  environment = {'question': 6}\n  exec(code, environment)\n"
        f"  {ANSWERS[answer]}\n"
    )


@contextmanager
def open_subject(folder: Path) -> Iterator[Subject]:
    with ExitStack() as stack:
        yield Programs(folder, stack)


TOOLS = """import atexit, base64, builtins, collections, ctypes, gc, json, os, pickle, signal, sys, threading
class Equal:
  def __eq__(self, other): return True
  def __ne__(self, other): return False
  def __getattr__(self, name): return lambda *a, **k: self
  def __array__(self, *a, **k): return self
  def __call__(self, *a, **k): return self
  def __iter__(self): return iter([self] * 3)
  def __len__(self): return 3
  def __bool__(self): return True
  def __float__(self): return 0.0
  __hash__ = None
class Reduce:
  def __reduce__(self): return os.system, ('touch pwned',)
def frame(message):
  content = message if isinstance(message, bytes) else json.dumps(message).encode()
  return len(content).to_bytes(8, 'big') + content
def everywhere(content, count=32):
  for descriptor in range(count):
    try: os.write(descriptor, content)
    except OSError: pass
"""
BEFORE = [
    "frame_ = sys._getframe()\nwhile frame_:\n"
    "  for key in list(frame_.f_globals): frame_.f_globals[key] = {lie}\n  frame_ = frame_.f_back",
    "frame_ = sys._getframe()\nwhile frame_:\n  for found in frame_.f_locals.values():\n"
    "    if isinstance(found, dict): found.update(result={lie}, kind='correct', code='pass')\n"
    "  frame_ = frame_.f_back",
    "for found in gc.get_objects():\n  if type(found) is dict and '{word}' in found: found['{word}'] = {lie}",
    "for found in gc.get_objects():\n  if type(found) is list and len(found) < 9: found[:] = ['correct', '']",
    "for module in list(sys.modules.values()):\n  try: setattr(module, '{word}', lambda *a, **k: {lie})\n"
    "  except Exception: pass",
    "json.dumps = lambda *a, **k: {text}",
    "json.loads = lambda *a, **k: {lie}",
    "write_ = os.write\nos.write = lambda descriptor, content: write_(descriptor, {bytes})",
    "os.write = lambda descriptor, content: len(content)",
    "pickle.loads = pickle.dumps = lambda *a, **k: {lie}",
    "base64.b64encode = lambda *a, **k: {bytes}",
    "type.__call__ = isinstance = lambda *a: True",
    "builtins.isinstance = lambda *a: True; builtins.type = lambda *a: str",
    "builtins.AssertionError = type('A', (Exception,), {})",
    "gc.get_referents(str.__dict__)[0]['__eq__'] = lambda *a: True",
    "gc.get_referents(dict.__dict__)[0]['__getitem__'] = lambda *a: {lie}",
    "sys.settrace(lambda f, e, a: f.f_locals.update(result={lie}))",
    "sys.addaudithook(lambda event, arguments: None)",
    "sys.setrecursionlimit({number})",
    "sys.set_int_max_str_digits(0)",
    "everywhere({bytes})",
    "everywhere(frame({message}))",
    "everywhere(frame({message}) * 3)",
    "everywhere(({head}).to_bytes(8, 'big') + {bytes})",
    "everywhere(b'[\"correct\", \"\"]\\n')",
    "if not os.fork():\n  while True: everywhere(frame({message}))",
    "threading.Thread(target=lambda: everywhere(frame({message})), daemon=True).start()",
    "atexit.register(everywhere, frame({message}))",
    "signal.signal(signal.SIGALRM, lambda *a: everywhere(frame({message}))); signal.setitimer(0, 0.01)",
    "os.closerange({number} % 40, 64)",
    "os.dup2({number} % 9, {number} % 7)",
    "for path in os.listdir('/proc'):\n  if path.isdigit():\n    for d in os.listdir(f'/proc/{path}/fd'):\n"
    "      try: open(f'/proc/{path}/fd/{d}', 'wb').write({bytes})\n      except OSError: pass",
    "open('/proc/self/mem', 'r+b').seek(id(json.dumps)); ctypes.memset(id(None) + 8, 0, 1)",
    "for name in ('numpy.py', 'sitecustomize.py', 'ANSWER', 'result'):\n  open(name, 'w').write('1/0')",
    "os.symlink('{secret}', 'result'); os.symlink('/proc/self/environ', 'question')",
    "print(os.environ, file=sys.stderr); everywhere(open('/proc/self/environ', 'rb').read())",
    "import socket; socket.create_connection(('127.0.0.1', {port}), 1)",
    "import tasks.scoring.sandboxed.verdict as v; v.run = lambda *a: ('correct', ''); v.main()",
    "import tasks.scoring.sandboxed.crossing as c; c.pack = lambda *a: {node}; c.UNSHOWN = 'str'",
    "import tasks.scoring.sandboxed.program as p; p._pack = lambda *a: {node}",
    "import tasks.scoring.sandboxed.program as p; p.send = lambda d, m: os.write(d, frame({message}))",
    "globals()['__builtins__'] = {}",
]  # fmt: skip
RESULTS = [
    "result = {lie}",
    "result = [{lie}] * 3",
    "result = {'a': {lie}}",
    "result = Equal()",
    "result = Reduce()",
    "class E(str):\n  __eq__, __hash__, __module__ = Equal.__eq__, str.__hash__, 'builtins'\nresult = E()",
    "class E(list):\n  __eq__, __iter__ = Equal.__eq__, Equal.__iter__\nresult = E()",
    "result = type('Meta', (type,), {'__module__': property(lambda s: 'numpy'), '__eq__': lambda *a: True,"
    " '__hash__': lambda s: hash(list)})('ndarray', (), {})()",
    "result = collections.UserString('')",
    "result = {number} ** {number}",
    "result = 'x' * {number} * 40",
    "result = []\nfor _ in range({number}): result = [result]",
    "result = []; result.append(result)",
    "result = {float}",
    "result = set(map(float, ['nan'] * 99))",
    "result = (x for x in [Equal()])",
    "import numpy as np; result = np.array([Equal()] * 3, dtype=object)",
    "import numpy as np; result = np.full(3, np.nan)",
    "import numpy as np; result = np.zeros({number}, dtype='V9')",
    "import numpy as np; result = np.broadcast_to(np.float64({float}), ({number}, {number}))",
    "import numpy as np\nclass ndarray(np.ndarray):\n  __eq__, __array_ufunc__ = Equal.__eq__, None\n"
    "  def __array_function__(self, *a, **k): return True\nresult = ndarray(3)",
    "import numpy as np; result = np.array(['']); result.setflags(write=1); result.dtype = '{dtype}'",
    "globals().clear()",
    "del result",
    "os._exit(0)",
    "sys.exit(0)",
    "raise AssertionError",
    "raise Equal",
    "raise type('AssertionError', (BaseException,), {'__str__': lambda s: {text}})",
    "os.kill(os.getppid(), 9); os.kill(1, 9); os.abort()",
    "everywhere(frame({message})); os._exit(0)",
    "everywhere(frame({message})); os.closerange(0, 64)",
]  # fmt: skip
WORDS = [
    "result",
    "question",
    "code",
    "names",
    "values",
    "send",
    "pack",
    "outcome",
    "run",
    "decide",
    "ANSWER",
    "exec",
]
KINDS = [
    "list", "tuple", "set", "dict", "Counter", "bytes", "decimal", "array", "objects", "scalar", "matrix",
    "element", "series", "frame", "index", "multi_index", "range_index", "extension", "periods", "sparse",
    "tensor", "unshown", "__class__", "str",
]  # fmt: skip


def make(random: Random) -> dict[str, Any]:
    """Generate a program: preparations, each of which may fail, and a result that pretends to be correct."""
    lines = []
    for before in random.sample(BEFORE, random.randint(1, 3)):
        body = fill(random, before).replace("\n", "\n  ")
        lines.append(f"try:\n  {body}\nexcept Exception: pass\n")
    lines.append(fill(random, random.choice(RESULTS)) + "\n")
    answer = random.choice(list(ANSWERS)) if random.random() < 0.4 else "equal"
    return {"code": ["".join(lines)], "answer": answer, "seconds": 1}


LIES = ["Equal()", "Reduce()", "True", "question * 7", "''", "{float}", "None"]
TEXTS = ['["correct", ""]', "\x1b[2J\n\u2028", "[" * 9_000, "\ud800" * 9, ""]
BYTES = ["b'5\\n'", "b'[' * 9000", "b'\\xff' * 99", "frame({message})", "pickle.dumps(Reduce())", "b''"]
MESSAGES = [
    "['values', {'result': {node}}, {}]",
    "['values', {'{word}': {node}}, {'result': {node}}]",
    "['raised', True, {text}]",
    "['raised', {lie} is None, 5]",
    "['refused', {text}]",
    "['ready']",
    "['missing', 'x']",
    "['correct', '']",
    "{node}",
    "b'[' * {number}",
    "b'9' * {number}",
    "b'\\xff\\xfe'",
]
HEADS = ["0", "1", "9", "2**25", "2**25 + 1", "2**63", "2**64 - 1"]
FLOATS = ["float('nan')", "float('inf')", "1e308", "-0.0", "5e-324"]


def fill(random: Random, snippet: str) -> str:
    """Fill in a snippet's fields with random values."""
    for field, draw in {
        "{bytes}": lambda: random.choice(BYTES),
        "{message}": lambda: random.choice(MESSAGES),
        "{lie}": lambda: random.choice(LIES),
        "{text}": lambda: repr(random.choice(TEXTS)),
        "{node}": lambda: repr(make_node(random)),
        "{head}": lambda: random.choice(HEADS),
        "{float}": lambda: random.choice(FLOATS),
        "{dtype}": lambda: random.choice(["O", "V8", "M8[ns]", "<u8", "S1"]),
        "{number}": lambda: str(random.choice([0, 7, 999, 5_000, 100_000, 10**7])),
        "{word}": lambda: random.choice(WORDS),
    }.items():
        while field in snippet:
            snippet = snippet.replace(field, draw(), 1)
    return snippet


def make_node(random: Random, depth: int = 0) -> Any:
    """Generate a structure that resembles an encoded value of the sandbox."""
    if depth > 3 or random.random() < 0.3:
        return random.choice(
            [None, True, 0, -1, 10**30, 1.5, "", "<i8", "|O", "right", [], [10**9], {}, "AAAAAAAAAAA="]
        )
    return [random.choice(KINDS), *(make_node(random, depth + 1) for _ in range(random.randint(0, 3)))]


KIND = Kind(at_least=120, open=open_subject, make=make)
