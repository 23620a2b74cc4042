"""The configuration: what is read, and that everything else is refused in one line that names the key.

Long because one table of everything that is refused.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from rap_conformance.engine.inputs import ConfigError, Secret, check_url, parse_auth_header, parse_hostport
from rap_conformance.engine.toml_file import FILE_NAME, find_default
from rap_conformance.server import config as c
from rap_conformance.server.config_file import load_file, parse

FULL = """
[server]
url = "http://127.0.0.1:3001/rap/"
revision = "2026-08-main"
request_timeout = 3
[features]
status = true
subscription = false
[auth]
headers = { Authorization = "env:RAP_TEST_TOKEN", X-Tenant = "first-tenant" }
origins = ["https://Tools.example:443", "http://[::1]:3002"]
[auth.other]
headers = { Authorization = "Bearer second-secret" }
[timing]
grace = 12
arrival_slack = 0.5
[scenario.quick]
operation = "echo"
arguments = { text = "hello" }
[scenario.pending]
operation = "wait"
arguments = { seconds = 4 }
seconds = 4
setup = [ { operation = "open", arguments = { path = "." } }, { operation = "warm" } ]
[scenario.subscription]
operation = "watch"
final_arguments = { count = 2 }
trigger = "curl -s http://127.0.0.1:3001/fire"
"""


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAP_TEST_TOKEN", "Bearer first-secret")
    monkeypatch.delenv("RAP_TEST_ABSENT", raising=False)


def write(folder: Path, text: str, name: str = FILE_NAME) -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def refused(data: object) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(data, "x.toml")
    message = str(caught.value)
    assert message.startswith("x.toml: ")
    assert message.isascii()
    assert message.isprintable()
    assert len(message) < 300
    return message.removeprefix("x.toml: ")


def test_everything_is_read(tmp_path: Path) -> None:
    config = load_file(write(tmp_path, FULL))
    assert config.server == c.ServerConfig("http://127.0.0.1:3001/rap", None, "2026-08-main", 3.0)
    assert config.features == {"status": True, "subscription": False}
    assert config.auth.headers == (
        ("Authorization", Secret("Bearer first-secret")),
        ("X-Tenant", Secret("first-tenant")),
    )
    assert config.auth.origins == ("https://tools.example", "http://[::1]:3002")
    assert config.auth.other is not None
    assert config.auth.other.headers == (("Authorization", Secret("Bearer second-secret")),)
    assert config.timing == c.Timing(12.0, 5.0, 0.5)
    assert config.scenarios["pending"] == c.ScenarioConfig(
        "wait", {"seconds": 4}, 4.0, (c.Invocation("open", {"path": "."}), c.Invocation("warm"))
    )
    assert config.scenarios["subscription"].final_arguments == {"count": 2}
    assert config.scenarios["subscription"].trigger == "curl -s http://127.0.0.1:3001/fire"


def test_an_empty_file_is_all_defaults(tmp_path: Path) -> None:
    config = load_file(write(tmp_path, ""))
    assert config == c.Config()
    assert config.server == c.ServerConfig(None, None, "2026-07-pr62", 10.0)
    assert config.timing == c.Timing(30.0, 5.0, 0.25)
    assert not config.auth.given
    assert config.auth.tls(certificate=True) is None


PENDING = {"operation": "wait", "seconds": 3}
REFUSED: list[tuple[Any, str, str]] = [
    ([], "", "got [] (an array); allowed: a table"),
    ({"sever": {}}, "sever", "is unknown; did you mean server? allowed: server, features, auth"),
    ({"zzz\x1b[31m": {}}, "'zzz\\x1b[31m'", "is unknown; allowed: server"),
    ({"server": 1}, "server", "got 1 (an integer); allowed: a table"),
    ({"server": {"URL": "http://x"}}, "server.URL", "is unknown"),
    ({"server": {"url": 3001}}, "server.url", "got 3001 (an integer); allowed: a text"),
    ({"server": {"url": ""}}, "server.url", "got nothing; allowed: http(s)://"),
    ({"server": {"url": "127.0.0.1:3001"}}, "server.url", "does not begin with http:// or https://"),
    ({"server": {"url": "http://a", "command": "b {port}"}}, "server.url", "together with server.command"),
    ({"server": {"url": "http://a", "prefix": "/b"}}, "server.prefix", "goes with server.command"),
    ({"server": {"command": "b {port}", "prefix": "b c"}}, "server.prefix", "allowed: a path such as /rap"),
    ({"server": {"command": "node 'x"}}, "server.command", "No closing quotation"),
    ({"server": {"command": " "}}, "server.command", "allowed: a command line"),
    ({"server": {"command": "node b"}}, "server.command", "a command line with {port} in it"),
    ({"server": {"revision": "2025"}}, "server.revision", "allowed: 2026-07-pr62 or 2026-08-main"),
    ({"server": {"revision": []}}, "server.revision", "got [] (an array)"),
    ({"server": {"request_timeout": 0}}, "server.request_timeout", "from 0.1 to 600"),
    ({"features": {"status": "yes"}}, "features.status", "got 'yes' (a string); allowed: true or false"),
    ({"features": {"statuss": True}}, "features.statuss", "did you mean status?"),
    ({"timing": {"grace": "30"}}, "timing.grace", "got '30' (a string); allowed: a number of seconds"),
    ({"timing": {"grace": True}}, "timing.grace", "got True (a boolean); allowed: a number of seconds"),
    ({"timing": {"grace": -1}}, "timing.grace", "from 0 to 3600"),
    ({"timing": {"grace": 10**400}}, "timing.grace", "from 0 to 3600"),
    ({"timing": {"race_window": float("nan")}}, "timing.race_window", "got nan (a number)"),
    ({"timing": {"race_window": float("inf")}}, "timing.race_window", "got inf (a number)"),
    ({"scenario": {"quick": {}}}, "scenario.quick.operation", "is missing"),
    ({"scenario": {"quick": {"operation": ""}}}, "scenario.quick.operation", "a text that is not empty"),
    ({"scenario": {"quick": {"operaton": "a"}}}, "scenario.quick.operaton", "did you mean operation?"),
    ({"scenario": {"quick": {"operation": "a", "seconds": 1}}}, "scenario.quick.seconds", "is unknown"),
    ({"scenario": {"quick": {"operation": "a", "arguments": 1}}}, "scenario.quick.arguments", "a table"),
    (
        {"scenario": {"quick": {"operation": "a", "arguments": {"n": float("nan")}}}},
        "scenario.quick.arguments",
        "what JSON can hold",
    ),
    ({"scenario": {"slow": PENDING}}, "scenario.slow", "is unknown"),
    ({"scenario": {"pending": {"operation": "wait"}}}, "scenario.pending.seconds", "is missing"),
    ({"scenario": {"pending": {**PENDING, "seconds": 1.9}}}, "scenario.pending.seconds", "from 2 to 3600"),
    (
        {"timing": {"arrival_slack": 1}, "scenario": {"pending": PENDING}},
        "scenario.pending.seconds",
        "from 8 to 3600",
    ),
    ({"scenario": {"pending": {**PENDING, "setup": {}}}}, "scenario.pending.setup", "an array of"),
    ({"scenario": {"pending": {**PENDING, "setup": [1]}}}, "scenario.pending.setup[0]", "a table"),
    (
        {"scenario": {"pending": {**PENDING, "setup": [{"operation": "a"}, {"op": "b"}]}}},
        "scenario.pending.setup[1].op",
        "is unknown",
    ),
    (
        {"scenario": {"subscription": {"operation": "a", "trigger": "curl '"}}},
        "scenario.subscription.trigger",
        "allowed: a command line",
    ),
    ({"auth": {"client_key": "x.pem"}}, "auth.client_cert", "is missing"),
    ({"auth": {"client_cert": "absent.pem"}}, "auth.client_cert", "No such file"),
    ({"auth": {"ca_bundle": ""}}, "auth.ca_bundle", "a PEM file"),
    ({"auth": {"origins": "http://x"}}, "auth.origins", "an array of origins"),
    ({"auth": {"origins": ["http://x", "http://x/path"]}}, "auth.origins[1]", "an origin"),
    ({"auth": {"other": {}}}, "auth.other.headers", "is missing"),
    ({"auth": {"other": {"origins": []}}}, "auth.other.origins", "is unknown"),
    ({"auth": {"sigv4": {"service": "lambda"}}}, "auth.sigv4.region", "is missing"),
]


@pytest.mark.parametrize(("data", "key", "said"), REFUSED, ids=[f"{n}" for n in range(len(REFUSED))])
def test_refused_in_one_line_that_names_the_key(data: object, key: str, said: str) -> None:
    message = refused(data)
    assert message.startswith(f"{key}: " if key else said)
    assert said in message


@pytest.mark.parametrize(
    ("headers", "key", "said"),
    [
        ("Bearer hush-hush", "headers", "got a string; allowed: a table"),
        (["hush-hush"], "headers", "got an array; allowed: a table"),
        ({"Authorization": 1}, "headers.Authorization", "got an integer"),
        ({"Authorization": ["hush-hush"]}, "headers.Authorization", "got an array"),
        ({"Authorization": ""}, "headers.Authorization", "is empty"),
        ({"Authorization": "hush-hush\r\nX: y"}, "headers.Authorization", "a line break"),
        ({"Authorization": "hush-hush\n"}, "headers.Authorization", "a line break"),
        ({"Authorization": "hush-hush\xe9"}, "headers.Authorization", "printable ASCII"),
        (
            {"Authorization": "env:RAP_TEST_ABSENT"},
            "headers.Authorization",
            "env:RAP_TEST_ABSENT, which is not",
        ),
        ({"Authorization": "env:"}, "headers.Authorization", "which is not set"),
        ({"Authorization": "Bearer env:RAP_TEST_TOKEN"}, "headers.Authorization", "env: inside a value"),
        ({"Authorization": "a", "authorization": "hush-hush"}, "headers", "got Authorization twice"),
        ({"Content-Length": "hush-hush"}, "headers.Content-Length", "which the suite sets itself"),
        ({"X Y": "hush-hush"}, "headers.'X Y'", "allowed: a header's name"),
    ],
)
def test_no_credential_in_a_message(headers: object, key: str, said: str) -> None:
    message = refused({"auth": {"headers": headers}})
    assert message.startswith(f"auth.{key}: ")
    assert said in message
    assert "hush" not in message
    assert "first-secret" not in message


def test_an_empty_variable_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAP_TEST_TOKEN", "")
    assert "got env:RAP_TEST_TOKEN, which is empty" in refused(
        {"auth": {"headers": {"Authorization": "env:RAP_TEST_TOKEN"}}}
    )


def test_sigv4_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    data = {"auth": {"sigv4": {"service": "lambda", "region": "eu-central-1"}}}
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert "pip install rap-conformance[sigv4]" in refused(data)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object())
    auth = parse(data, "x").auth
    assert auth.sigv4 == c.SigV4("lambda", "eu-central-1")
    assert auth.given
    data["auth"]["headers"] = {"authorization": "x"}
    assert "without headers.Authorization" in refused(data)


def test_files_of_tls_are_looked_into_beforehand(tmp_path: Path) -> None:
    write(tmp_path, "no certificate", "client.pem")
    path = write(tmp_path, '[auth]\nclient_cert = "client.pem"\n')
    with pytest.raises(ConfigError, match=r"auth: TLS refuses client_cert"):
        load_file(path)


def test_a_secret_shows_only_when_revealed() -> None:
    secret = Secret("Bearer hush-hush")
    auth = c.Auth(headers=(("Authorization", secret),))
    for text in (repr(secret), str(secret), f"{secret}", f"{auth}", repr(c.Config(auth=auth))):
        assert "hush" not in text
    assert secret.reveal() == "Bearer hush-hush"
    assert secret == Secret("Bearer hush-hush")
    assert secret != "Bearer hush-hush"
    assert len({secret, Secret("Bearer hush-hush")}) == 1
    assert set(secret.parts()) == {"Bearer hush-hush", "hush-hush"}
    assert set(Secret("sid=abc; theme=dark").parts()) >= {"abc", "dark"}


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ("http://127.0.0.1:3001", "http://127.0.0.1:3001"),
        ("HTTP://LocalHost:3001/Prefix///", "http://localhost:3001/Prefix"),
        ("https://tools.example/a/b/", "https://tools.example/a/b"),
        ("http://[::1]:3001/", "http://[::1]:3001"),
        ("http://host/@scope", "http://host/@scope"),
    ],
)
def test_urls_are_normalised(given: str, normal: str) -> None:
    assert check_url(given) == normal


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            " ",
            "localhost",
            "localhost:3001",
            "//host",
            "ftp://host",
            "http:host",
            "http://",
            "http:///x",
            "x",
        ),
        *(
            "http://h:0",
            "http://h:99999",
            "http://h:x",
            "http://[::1",
            "http://[zz]",
            "http://a b",
            "http://h/\n",
        ),
        *(
            "http://h?x=hush",
            "http://h/#hush",
            "http://h?",
            "http://u:hush@h",
            "u:hush@h",
            "http://ü",
            "http://h\\x",
        ),
    ],
)
def test_urls_are_refused(url: str) -> None:
    with pytest.raises(ConfigError, match=r"--server-url: got .*; allowed: http\(s\)://") as caught:
        c.Config().with_target(url=url)
    assert str(caught.value).isprintable()
    assert "hush" not in str(caught.value)


def test_a_target_of_the_command_line_replaces_the_files() -> None:
    config = parse({"server": {"command": "node a --port {port}", "prefix": "/rap/"}}, "x")
    assert config.server.prefix == "/rap"
    assert config.with_target() is config
    assert config.with_target(command="node b {port}").server == c.ServerConfig(
        command="node b {port}", prefix="/rap"
    )
    assert config.with_target(url="http://h/").server == c.ServerConfig(url="http://h")
    with pytest.raises(ConfigError, match="--server-url: not together with --server-cmd"):
        config.with_target(url="http://h", command="node b")
    with pytest.raises(ConfigError, match="--server-cmd: got ''"):
        config.with_target(command="")


def test_headers_of_the_command_line() -> None:
    config = parse({"auth": {"headers": {"Authorization": "old-secret", "X-Tenant": "tenant"}}}, "x")
    new = parse_auth_header("authorization:  env:RAP_TEST_TOKEN ")
    assert config.with_auth([new]).auth.headers == (("X-Tenant", Secret("tenant")), new)
    assert c.Config().with_auth(none=True).auth.none
    with pytest.raises(ConfigError, match="--no-auth: not together"):
        config.with_auth(none=True)
    with pytest.raises(ConfigError, match="authorization twice"):
        config.with_auth([new, new])
    for wrong in ("Bearer hush-hush", "Bearer hush:hush", ": hush", "", "X:"):
        with pytest.raises(ConfigError, match="--auth-header: got") as caught:
            parse_auth_header(wrong)
        assert "hush" not in str(caught.value)


def test_host_and_port() -> None:
    assert parse_hostport("127.0.0.1:0", "--bind") == ("127.0.0.1", 0)
    assert parse_hostport("[::1]:8080", "--bind") == ("::1", 8080)
    for wrong in ("", "8080", "host", "host:", ":80", "::1:80", "host:65536", "host:-1", "host:8o", "a b:1"):
        with pytest.raises(ConfigError, match=r"--bind: got .*; allowed: HOST:PORT"):
            parse_hostport(wrong, "--bind")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[server]\nurl = \n", r"is not TOML: .*line 2, column 7"),
        (b"[server]\nurl = 'a'\nurl = 'b'\n", r"is not TOML: .*line 3"),
        (b"\xff", "is not UTF-8 .at byte 0."),
        (b"#" * ((1 << 20) + 1), "is larger than"),
        (b"a = " + b"[" * 100_000, "nested too deeply|not TOML"),
        (b"[timing]\ngrace = " + b"1" * 5000, "too long"),
        (b"[timing]\ngrace = 0x" + b"1" * 5000, "got a huge number"),
    ],
)
def test_damaged_files(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=rf"a\.toml: .*{said}|a\.toml: {said}"):
        load_file(path)


def test_absent_and_unreadable_files(tmp_path: Path) -> None:
    for path, said in ((tmp_path / "absent.toml", "No such file"), (tmp_path, "directory")):
        with pytest.raises(ConfigError, match=rf"cannot be read \(.*{said}"):
            load_file(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_file(Path("a\0b"))


def test_the_default_file(tmp_path: Path) -> None:
    assert find_default(tmp_path) is None
    write(tmp_path, "[project]\nname = 'rap-conformance'\n", "pyproject.toml")
    assert find_default(tmp_path) is None
    write(tmp_path, "broken [[[", "pyproject.toml")
    assert find_default(tmp_path) is None
    project = write(tmp_path, "[tool.rap-conformance.timing]\ngrace = ", "pyproject.toml")
    assert find_default(tmp_path) == project
    write(tmp_path, "[tool]\nrap-conformance = { timing = { grace = 7 } }\n", "pyproject.toml")
    assert find_default(tmp_path) == project
    assert load_file(project).timing.grace == 7.0
    write(tmp_path, "[tool.rap-conformance.timing]\ngrce = 7\n", "pyproject.toml")
    with pytest.raises(
        ConfigError, match=r"\[tool\.rap-conformance\]: timing\.grce: is unknown; did you mean grace"
    ):
        load_file(project)
    write(tmp_path, "[tool.other]\n", "pyproject.toml")
    with pytest.raises(ConfigError, match="rap-conformance: is missing"):
        load_file(project)
    own = write(tmp_path, "")
    assert find_default(tmp_path) == own


def test_relative_files_start_at_the_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_file(write(tmp_path, '[auth]\nca_bundle = "ca.pem"\n'))
    assert str(tmp_path / "ca.pem") in str(caught.value)


def test_what_reports_show_holds_no_credential(tmp_path: Path) -> None:
    config = load_file(write(tmp_path, FULL))
    command = "serve --token first-secret --port {port}"
    rows = dict(c.redacted(config.with_target(command=command)))
    assert rows["server.command"] == "serve --token <redacted> --port {port}"
    assert rows["server.request_timeout"] == "3.0"
    assert rows["features.subscription"] == "false"
    assert rows["auth.headers.Authorization"] == "<redacted>"
    assert rows["auth.other.headers.Authorization"] == "<redacted>"
    assert rows["auth.origins[0]"] == "https://tools.example"
    assert rows["scenario.quick.arguments"] == '{"text": "hello"}'
    assert rows["scenario.pending.setup[0].operation"] == "open"
    assert not any("secret" in text or "first-tenant" in text for text in rows.values())


def test_values_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        c.Config().server.url = "x"  # type: ignore[misc]


# --- headers for everybody, TLS of a server that is started


def test_headers_that_are_no_secret_are_shown(tmp_path: Path) -> None:
    config = load_file(write(tmp_path, '[server]\nheaders = { X-Api-Version = "2", X-Tenant = "acme" }\n'))
    assert config.server.headers == (("X-Api-Version", "2"), ("X-Tenant", "acme"))
    rows = dict(c.redacted(config))
    assert (rows["server.headers.X-Api-Version"], rows["server.headers.X-Tenant"]) == ("2", "acme")


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"Authorization": "Bearer x"}, "would be shown in reports"),
        ({"cookie": "a=b"}, "would be shown in reports"),
        ({"X-Api-Version": "env:RAP_TEST_TOKEN"}, "would be shown in reports"),
        ({"Content-Type": "x"}, "which the suite sets itself"),
        ({"X-V": 2}, "got 2 (an integer)"),
        ({"X-V": "1", "x-v": "2"}, "twice"),
    ],
)
def test_headers_that_are_secret_or_none_are_refused(headers: object, said: str) -> None:
    message = refused({"server": {"headers": headers}})
    assert message.startswith("server.headers")
    assert said in message


def test_a_header_is_for_everybody_or_a_credential() -> None:
    data = {"server": {"headers": {"X-V": "1"}}, "auth": {"headers": {"x-v": "1"}}}
    assert refused(data).startswith("server.headers: got X-V, which is in auth.headers")
    config = parse({"server": {"headers": {"X-V": "1"}}}, "x")
    with pytest.raises(ConfigError, match=r"X-V is in server\.headers, too"):
        config.with_auth([("x-v", Secret("1"))])


def test_a_server_that_is_started_may_speak_tls() -> None:
    server = {"command": "serve {port}", "scheme": "https"}
    assert parse({"server": server}, "x").server.scheme == "https"
    assert "http or https" in refused({"server": {**server, "scheme": "ftp"}})
    url = {"url": "https://127.0.0.1:1", "scheme": "https"}
    assert "goes with server.command" in refused({"server": url})
