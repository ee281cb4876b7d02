"""A PostgreSQL server of the tests' own, in a directory of its own, reached by a socket in it."""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import tempfile
import threading
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest

NOBODY = 65534


class Server:
    """A server that tests may stop and start."""

    def __init__(self, place: Path, programs: Path) -> None:
        self.place, self.data, self.programs = place, place / "data", programs
        # PostgreSQL refuses to run as root.
        self.user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}

    def run(self, program: str, *arguments: str) -> None:
        log = self.place / "programs.log"
        with log.open("ab") as output:  # a pipe would stay open as long as the server runs
            done = subprocess.run(
                [self.programs / program, "-D", self.data, *arguments],
                check=False,
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                timeout=120,
                cwd=self.place,
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
                **self.user,
            )
        assert done.returncode == 0, log.read_text(errors="replace")

    def start(self) -> None:
        options = f"-c listen_addresses= -c unix_socket_directories={self.place} -c fsync=off"
        self.run("pg_ctl", "-w", "-l", str(self.place / "server.log"), "-o", options, "start")

    def stop(self, how: str = "fast") -> None:
        self.run("pg_ctl", "-w", "-m", how, "stop")

    def url(self, schema: str, host: str | None = None) -> str:
        options = quote(f"-csearch_path={schema}", safe="")
        return f"postgres://postgres@/postgres?host={quote(host or str(self.place), safe='')}&options={options}"


class Proxy:
    """Passes on what clients and the server say, until a client's COMMIT: the server gets it, the answer is dropped.

    ``cut_after`` is the text after which one answer is dropped, ``cut_every`` drops that of each n-th transaction.
    """

    ADDED = b'{"type":"'
    """What a client says when it adds lines, which is a transaction of its own."""

    def __init__(self, folder, target):
        self.folder, self.target = folder, target
        self.cut_after = None
        self.cut_every = None
        self.cuts = self.commits = 0
        self._clients = []
        self._path = folder / ".s.PGSQL.5432"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._path))
        self._listener.listen()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def down(self):
        """Be a server that is away: connections break, and new ones cannot be made."""
        self._path.rename(self._path.with_name("away"))
        for client in self._clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def up(self):
        """Be there again."""
        self._path.with_name("away").rename(self._path)

    def _drops(self, data):
        """Whether the answer to what a client says is dropped."""
        committed = b"COMMIT" in data or self.ADDED in data
        self.commits += committed
        if self.cut_after is not None and self.cut_after in data:
            self.cut_after = None
            return True
        return self.cut_every is not None and committed and self.commits % self.cut_every == 0

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._clients.append(client)
            self._threads.append(threading.Thread(target=self._pass_on, args=(client,), daemon=True))
            self._threads[-1].start()

    def _pass_on(self, client):
        server = socket.socket(socket.AF_UNIX)
        server.connect(self.target)
        dropped = None
        with client, server, suppress(OSError):
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    data = ready.recv(1 << 20)
                    if not data:
                        return
                    if ready is client:
                        if self._drops(data):
                            dropped = b""
                            self.cuts += 1
                        server.sendall(data)
                    elif dropped is None:
                        client.sendall(data)
                    else:
                        dropped += data
                        if dropped.endswith(b"Z\0\0\0\5I"):  # done, and ready for the next: the COMMIT is in
                            return

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def programs(place: Path) -> Path:
    """Where initdb and pg_ctl are: in the distribution pgserver, else on this machine."""
    found = find_spec("pgserver")
    places = [Path(found.origin).parent / "pginstall" / "bin"] if found and found.origin else []
    if (here := shutil.which("pg_ctl")) is not None:
        places.append(Path(here).parent)
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in places:
        if (folder / "initdb").exists():
            if os.geteuid() == 0 and not _reachable(folder):
                shutil.copytree(folder.parent, place / "pginstall", symlinks=True)
                libraries = folder.parent.parent.parent / "pgserver.libs"
                if libraries.is_dir():
                    shutil.copytree(libraries, place.parent / "pgserver.libs", dirs_exist_ok=True)
                return place / "pginstall" / "bin"
            return folder
    pytest.fail(
        "no PostgreSQL was found: install pgserver from PyPI (Python 3.11, 3.12), or PostgreSQL on this machine"
    )


def _reachable(folder: Path) -> bool:
    return all(path.stat().st_mode & 0o005 == 0o005 for path in [folder / "initdb", folder, *folder.parents])


@pytest.fixture(scope="session")
def server():
    """Start a server; each process of pytest-xdist has its own."""
    place = Path(tempfile.mkdtemp(prefix="gert-pg-", dir="/tmp"))  # the path of a socket has at most 107 bytes
    try:
        if os.geteuid() == 0:
            os.chown(place, NOBODY, NOBODY)
        made = Server(place, programs(place))
        made.run("initdb", "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync")
        made.start()
        try:
            yield made
        finally:
            made.stop("immediate")
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def url(server):
    """An address with an empty schema for one test."""
    schema = f"t{uuid4().hex[:12]}"
    address = server.url(schema)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    yield address
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture
def proxied(server, url, tmp_path_factory):
    """The address of the test's schema through a proxy."""
    folder = Path(tempfile.mkdtemp(prefix="gert-px-", dir="/tmp"))
    proxy = Proxy(folder, str(server.place / ".s.PGSQL.5432"))
    proxy.url = url.replace(quote(str(server.place), safe=""), quote(str(folder), safe=""))
    yield proxy
    proxy.close()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def warm(tmp_path_factory):
    """A process for each store that forks gert, so that three of them work at the same time."""
    from faulty import Faulty

    modules = ("gert_store_sqlite.store", "gert_store_postgres.store")
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(Faulty(tmp_path_factory.mktemp(name), modules=modules))
            for name in ("file", "sqlite", "postgres")
        }


@pytest.fixture
def stores(server, url, warm, tmp_path):
    """A shell for each store, all with the same files."""
    from store_shells import make_shells

    return make_shells(tmp_path, url, warm)
