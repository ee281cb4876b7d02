"""``gert web``: read the command line, and serve."""

from __future__ import annotations

import sys
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from msgspec import Struct

from gert_core.api import UsageError
from gert_core.kit.arguments import plugin_choice, read_words
from gert_core.kit.listening import ListenAddress, listen_address

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.api import CommandHost

    Network = IPv4Network | IPv6Network

USAGE: Final = """\
Usage: gert web [OPTIONS]

Serve an inbox for browsers: approve and reject tickets, answer questions, follow runs live, see outcomes.
The same program is `gert-web`.

Options:
  --root DIR              The project; default: the current directory.
  --bind HOST:PORT        Where to listen; default: 127.0.0.1:8484. Other than loopback needs --auth header.
  --auth HOW              Who people are: token (default), the user of this process, by an address that is printed;
                          header, as a proxy in front says.
  --trust-header NAME     The header in which the proxy says who it is.
  --trusted-proxy CIDR    The addresses of the proxy; may be given again.
  --proxy-secret-env NAME The variable with the secret that the proxy sends as Gert-Proxy-Secret; needed on loopback.
  --base-url URL          The address under which people reach it.
  --callbacks-bind HOST:PORT
                          Serve /callbacks at an address of its own, and nothing else there.
  --resume                Resume runs here when their tickets and questions are answered.
  --start                 Let people start runs of the project's runbooks.
  --store URL             Where runs are kept; default: GERT_STORE, or as the project says.
  -p NAME                 Use a plugin, or with no:NAME do not.
  --help                  Show this text.
"""
BIND: Final = "127.0.0.1:8484"
SECRET_HEADER: Final = "gert-proxy-secret"  # noqa: S105 - the name of a header
_OPTIONS: Final = {
    **dict.fromkeys(("--root", "--bind", "--auth", "--trust-header", "--trusted-proxy", "--proxy-secret-env"), True),
    **dict.fromkeys(("--base-url", "--callbacks-bind", "--store", "-p"), True),
    **dict.fromkeys(("--resume", "--start"), False),
}
"""The options, and whether each takes a value."""
_SHORTEST: Final = 16
"""The least number of characters of the proxy's secret."""
_LOCAL: Final = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
_HEADER_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


class WebOptions(Struct, frozen=True, kw_only=True):
    """What a command line asks for."""

    root: Path
    bind: ListenAddress
    header: str | None = None
    """The header that says who people are, in lower case; None: they are the user of this process."""
    proxies: tuple[Network, ...] = ()
    proxy_secret: str | None = None
    secret_env: str | None = None
    """The variable with that secret, which no tool is given."""
    base_url: str | None = None
    callbacks: ListenAddress | None = None
    resume: bool = False
    start: bool = False
    store: str | None = None
    allow: tuple[str, ...] = ()
    block: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """The address under which people reach it."""
        return self.base_url or f"http://{self.bind.shown}"


def main(args: Sequence[str], host: CommandHost) -> int:
    """Run ``gert web``, and return its exit code."""
    if {"--help", "-h"} & set(args):
        sys.stdout.write(USAGE)
        return 0
    wanted = read(args, host.environ)
    from gert_web.serving import serve

    return serve(wanted, environ=host.environ)


def read(args: Sequence[str], environ: Mapping[str, str]) -> WebOptions:
    """Return what a command line asks for; raise ``UsageError`` for one that does not make sense."""
    words = read_words(args, _OPTIONS, many=("-p", "--trusted-proxy"))
    if words.rest:
        raise UsageError(f"gert web takes no {words.rest[0]!r}", hint="`gert web --help` lists the options")
    texts = {name: value for name, value in words.values.items() if isinstance(value, str)}
    root, auth = Path(texts.get("--root", ".")), texts.get("--auth", "token")
    if not root.is_dir():
        raise UsageError(f"--root {root} is not a directory", hint="give the directory of a project")
    if auth not in ("token", "header"):
        raise UsageError(f"--auth takes token or header, not {auth!r}")
    allow, block = plugin_choice(words.many["-p"])
    wanted = WebOptions(
        root=root.resolve(),
        bind=listen_address("--bind", texts.get("--bind", BIND), example=BIND),
        header=_header(texts.get("--trust-header")) if auth == "header" else None,
        proxies=tuple(_network(text) for text in words.many["--trusted-proxy"]),
        proxy_secret=_secret(texts.get("--proxy-secret-env"), environ),
        secret_env=texts.get("--proxy-secret-env"),
        base_url=_url(texts.get("--base-url")),
        callbacks=_callbacks(texts.get("--callbacks-bind")),
        resume="--resume" in words.values,
        start="--start" in words.values,
        store=texts.get("--store"),
        allow=allow,
        block=block,
    )
    _check(wanted, auth, texts)
    return wanted


def _check(wanted: WebOptions, auth: str, texts: Mapping[str, str]) -> None:
    """Refuse what would let in people without asking who they are."""
    if auth == "token":
        unused = [name for name in ("--trust-header", "--proxy-secret-env") if name in texts]
        unused += ["--trusted-proxy"] if wanted.proxies else []
        if unused:
            raise UsageError(f"{unused[0]} is for --auth header", hint="add --auth header, or leave it out")
        if not wanted.bind.loopback:
            raise UsageError(
                f"--bind {wanted.bind.host} can be reached from other machines, and --auth token is for one person",
                hint="put a proxy in front that asks who people are, and give --auth header",
            )
        return
    if not wanted.proxies:
        hint = "such as --trusted-proxy 10.0.0.7/32"
        raise UsageError("--auth header needs the addresses of the proxy: --trusted-proxy CIDR", hint=hint)
    local = [net for net in wanted.proxies if any(net.version == own.version and net.overlaps(own) for own in _LOCAL)]
    if local and wanted.proxy_secret is None:
        raise UsageError(
            f"--trusted-proxy {local[0]} has loopback in it, where every program here can claim to be the proxy",
            hint="give --proxy-secret-env NAME, and let the proxy send that secret as Gert-Proxy-Secret",
        )


def _callbacks(text: str | None) -> ListenAddress | None:
    return None if text is None else listen_address("--callbacks-bind", text, example=BIND)


def _header(text: str | None) -> str:
    if text is None:
        raise UsageError("--auth header needs --trust-header NAME", hint="such as --trust-header X-Forwarded-User")
    name = text.lower()
    if not name or not _HEADER_LETTERS.issuperset(name) or name in (SECRET_HEADER, "host", "cookie", "origin"):
        raise UsageError(f"--trust-header takes the name of a header, not {text!r}", hint="letters, digits and dashes")
    return name


def _network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError:
        hint = "such as 10.0.0.7/32 or fd00::/64; the bits behind the prefix are 0"
        raise UsageError(f"--trusted-proxy takes addresses as CIDR, not {text!r}", hint=hint) from None


def _url(text: str | None) -> str | None:
    if text is None:
        return None
    parts = urlsplit(text)
    plain = not (parts.query or parts.fragment or parts.path.strip("/") or "@" in parts.netloc)
    if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
        hint = "such as https://gert.example.com; the inbox cannot stand below a path"
        raise UsageError(f"--base-url takes an address without a path and a password, not {text!r}", hint=hint)
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _secret(name: str | None, environ: Mapping[str, str]) -> str | None:
    if name is None:
        return None
    secret = environ.get(name, "")
    if len(secret) < _SHORTEST:
        told = f"has fewer than {_SHORTEST} characters" if secret else "is not set"
        raise UsageError(f"--proxy-secret-env names {name}, which {told}", hint="put a long random secret there")
    return secret


__all__ = ["SECRET_HEADER", "USAGE", "WebOptions", "main", "read"]
