"""Tests of webhook receivers on loopback: success is reported only if the alarm arrived."""

import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from flows.night_settings import Webhook
from flows.nights import webhook as sending
from flows.nights.webhook import send_alarm
from tasks.judging.nights import Night, NightAlarm

SECRET = "T0K3N-of-the-address"
NIGHT = Night("2031-07-09", "2031-07-08", "alarm", (NightAlarm("regression", "films-weak fell"),))
DEADLINE_S = 1.5
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass
class Receiver:
    """A webhook receiver. heard: the complete requests, as (method, path, body)."""

    url: str
    heard: list[tuple[str, str, bytes]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


Behaviour = Callable[[socket.socket, Receiver, tuple[str, str, bytes]], None]


def read_request(peer: socket.socket) -> tuple[str, str, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        if not (part := peer.recv(65536)):
            raise ConnectionError
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    lengths = [int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length:")]
    while len(body) < sum(lengths):
        if not (part := peer.recv(65536)):
            raise ConnectionError
        body += part
    method, path, _ = lines[0].split(" ", 2)
    return method, path, body


@contextmanager
def receiving(behave: Behaviour, *, listens: bool = True) -> Iterator[Receiver]:
    """Serve a behaviour on loopback. listens: whether to read the request first."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        receiver = Receiver(f"http://127.0.0.1:{server.getsockname()[1]}/{SECRET}")

        def serve() -> None:
            while True:
                try:
                    peer, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=handle, args=(peer,), daemon=True).start()

        def handle(peer: socket.socket) -> None:
            with peer:
                try:
                    request = read_request(peer) if listens else ("", "", b"")
                    if listens:
                        receiver.heard.append(request)
                    behave(peer, receiver, request)
                except (OSError, ConnectionError):
                    return

        threading.Thread(target=serve, daemon=True).start()
        yield receiver
        receiver.over.set()


def say(*parts: bytes, pause_s: float = 0.0) -> Behaviour:
    """Return a behaviour that sends parts, each after a pause."""

    def behave(peer: socket.socket, receiver: Receiver, request: tuple[str, str, bytes]) -> None:
        for part in parts:
            if receiver.over.wait(pause_s) and pause_s:
                return
            peer.sendall(part)

    return behave


def endless(head: bytes, part: bytes, pause_s: float) -> Behaviour:
    """Return a behaviour that sends a part repeatedly until the client disconnects."""

    def behave(peer: socket.socket, receiver: Receiver, request: tuple[str, str, bytes]) -> None:
        peer.sendall(head)
        until = time.monotonic() + 8 * DEADLINE_S
        while time.monotonic() < until and not receiver.over.wait(pause_s):
            peer.sendall(part)

    return behave


def silent(peer: socket.socket, receiver: Receiver, request: tuple[str, str, bytes]) -> None:
    receiver.over.wait(8 * DEADLINE_S)


def redirect(status: int, where: Callable[[Receiver], str], then: bytes = OK) -> Behaviour:
    """Return a behaviour that redirects all requests except to /there, which get `then`."""

    def behave(peer: socket.socket, receiver: Receiver, request: tuple[str, str, bytes]) -> None:
        if request[1] == "/there":
            peer.sendall(then)
        else:
            head = f"HTTP/1.1 {status} Moved\r\nLocation: {where(receiver)}\r\nContent-Length: 0\r\n\r\n"
            peer.sendall(head.encode())

    return behave


def reply(status: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


there = redirect(307, lambda _: "/there")
TOLD = {
    "200": say(OK),
    "204": say(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "202 in HTTP/1.0": say(b"HTTP/1.0 202 Accepted\r\n\r\n"),
    "early hints before": say(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK),
    "307 on its own host": there,
    "308 on its own host": redirect(308, lambda receiver: receiver.url.rsplit("/", 1)[0] + "/there"),
    "huge body": endless(b"HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n\r\n", b"x" * 1_000_000, 0),
    "chunked garbage": say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nno chunk"),
    "body cut short": say(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhalf"),
    "no gzip though named": say(reply("200 OK", "Content-Encoding: gzip", body=b"not gzip")),
}
NOT_TOLD = {
    "500": say(reply("500 Internal Server Error", body=b"the reason")),
    "404": say(reply("404 Not Found")),
    "401": say(reply("401 Unauthorized", 'WWW-Authenticate: Basic realm="x"')),
    "304": say(b"HTTP/1.1 304 Not Modified\r\n\r\n"),
    "301 on its own host": redirect(301, lambda _: "/there"),
    "302 on its own host": redirect(302, lambda _: "/there"),
    "303 on its own host": redirect(303, lambda _: "/there"),
    "307 in a circle": redirect(307, lambda _: "/again"),
    "307 to nowhere": say(reply("307 Temporary Redirect")),
    "307 to another scheme": redirect(307, lambda _: "file:///etc/passwd"),
    "307 to no address": redirect(307, lambda _: "http://[::1/there"),
    "307, then 500": redirect(307, lambda _: "/there", reply("500 No")),
    "no HTTP spoken": say(b"220 mail.example ESMTP ready\r\n"),
    "invalid status line": say(b"HTTP/1.1 two-hundred OK\r\n\r\n"),
    "status 999": say(b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n"),
    "switches protocols": say(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
    "long headers": say(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 3_000_000 + b"\r\n\r\n"),
    "many headers": say(b"HTTP/1.1 200 OK\r\n" + b"X-Many: x\r\n" * 100_000 + b"\r\n"),
    "headers that drip": endless(b"HTTP/1.1 200 OK\r\n", b"X-Drip: x\r\n", 0.2),
    "status line that drips": endless(b"", b"H", 0.2),
    "early hints for ever": endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", 0.2),
    "200, too late": say(OK, pause_s=2 * DEADLINE_S),
    "never answers": silent,
    "closes after it read": say(),
}


def post(monkeypatch, url: str) -> str:
    """Send the night's alarm; return the line, after checks that apply to every receiver."""
    monkeypatch.setenv("NIGHT_HOOK", url)
    monkeypatch.setattr(sending, "DEADLINE_S", DEADLINE_S)
    begun = time.monotonic()
    line = send_alarm("films", Webhook(url_env="NIGHT_HOOK"), NIGHT)
    assert time.monotonic() - begun < DEADLINE_S + 1.5
    assert SECRET not in line
    assert "127.0.0.1" not in line
    assert "\n" not in line
    assert "NIGHT_HOOK" in line
    return line


@pytest.mark.parametrize("name", TOLD)
def test_a_receiver_that_took_the_alarm_is_told(name, monkeypatch):
    with receiving(TOLD[name]) as receiver:
        line = post(monkeypatch, receiver.url)
    assert line.startswith("the webhook of NIGHT_HOOK received the alarm (status 20"), line
    method, _, body = receiver.heard[-1]
    assert method == "POST"
    assert json.loads(body)["alarms"] == [{"kind": "regression", "what": "films-weak fell"}]


@pytest.mark.parametrize("name", NOT_TOLD)
def test_a_receiver_that_did_not_take_the_alarm_is_not_told(name, monkeypatch):
    with receiving(NOT_TOLD[name]) as receiver:
        line = post(monkeypatch, receiver.url)
    assert line.startswith("the webhook did not receive the alarm: "), line
    assert {method for method, _, _ in receiver.heard} == {"POST"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_no_redirect_leads_to_another_host_or_port(status, host, monkeypatch):
    with receiving(say(OK)) as other:
        port = other.url.rsplit(":", 1)[1].split("/")[0]
        with receiving(redirect(status, lambda _: f"http://{host}:{port}/there")) as receiver:
            line = post(monkeypatch, receiver.url)
    assert line.startswith("the webhook did not receive the alarm: "), line
    assert other.heard == []


@pytest.mark.parametrize("close", ["at once", "with a reset", "after a 200 that it sent unasked"])
def test_a_receiver_that_reads_nothing_is_not_told(close, monkeypatch):
    large = Night("2031-07-09", None, "alarm", (NightAlarm("gold", "x" * 30_000_000),))

    def behave(peer: socket.socket, receiver: Receiver, request: tuple[str, str, bytes]) -> None:
        if close == "with a reset":
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        if close == "after a 200 that it sent unasked":
            peer.sendall(OK)
            peer.shutdown(socket.SHUT_WR)
            peer.recv(1000)

    monkeypatch.setattr("tests.flows.nights.test_webhook.NIGHT", large)
    with receiving(behave, listens=False) as receiver:
        assert post(monkeypatch, receiver.url).startswith("the webhook did not receive the alarm: ")


def test_an_address_that_leads_nowhere_is_not_told(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    addresses = {
        f"http://127.0.0.1:{free}/{SECRET}": "cannot be reached",
        f"http://no-such-host.invalid/{SECRET}": "cannot be reached",
        f"http://no such host/{SECRET}": "cannot be reached",
        f"http://127.0.0.1:99999/{SECRET}": "cannot be reached",
        f"http://127.0.0.1:{free}/{SECRET}\nX-More: 1": "not a valid HTTP URL",
        f"http:///{SECRET}": "not a valid HTTP URL",
        f"https://[::1/{SECRET}": "not a valid HTTP URL",
        f"ftp://127.0.0.1/{SECRET}": "not a valid HTTP URL",
        SECRET: "not a valid HTTP URL",
        "": "is not set",
    }
    for address, reason in addresses.items():
        line = post(monkeypatch, address)
        assert line.startswith("the webhook did not receive the alarm: "), line
        assert reason in line


def test_a_space_in_the_path_is_sent_quoted(monkeypatch):
    with receiving(say(OK)) as receiver:
        assert "received the alarm (status 200)" in post(monkeypatch, f"{receiver.url} of ours")
    assert receiver.heard[0][1] == f"/{SECRET}%20of%20ours"


def test_tls_on_a_plain_port_is_not_told(monkeypatch):
    with receiving(say(b"HTTP/1.1 400 Bad Request\r\n\r\n"), listens=False) as receiver:
        line = post(monkeypatch, receiver.url.replace("http://", "https://"))
    assert line.startswith("the webhook did not receive the alarm: "), line


def test_the_address_is_in_no_log(monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    with receiving(there) as receiver:
        post(monkeypatch, receiver.url)
    assert SECRET not in caplog.text


def test_a_night_without_an_alarm_is_not_sent(monkeypatch):
    with receiving(say(OK)) as receiver:
        monkeypatch.setenv("NIGHT_HOOK", receiver.url)
        quiet = Night("2031-07-09", None, "accepted", ())
        assert send_alarm("films", Webhook(url_env="NIGHT_HOOK"), quiet) == ""
        assert send_alarm("films", Webhook(), NIGHT) == ""
    assert receiver.heard == []
