"""The address of a page: its token and port, which outlive a restart, and the names by which it may be called."""

from __future__ import annotations

import fcntl
import getpass
import ipaddress
import json
import os
import re
import secrets
import socket
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from pydaub.runs.journal import is_held
from pydaub.within import Folder

if TYPE_CHECKING:
    from pathlib import Path

RECORD: Final = "page.json"
LOOPBACK: Final = "127.0.0.1"
TOKEN: Final = re.compile(r"[\w-]{32}")
HIGHEST_PORT: Final = 65_535
PATIENCE: Final = 0.5  # seconds; `served` of another process takes the lock for an instant
SSH_PORT: Final = "22"
ELSEWHERE: Final = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}  # nobody's; nothing is sent there


class Record:
    """Token and port of a folder's page, in a file that only its owner can read, locked while the page is served.

    A page that is started again has the same address, so that open tabs find it. A record that others can read, or
    that somebody else wrote, is replaced. So is a copy: somebody else may know its token. A folder that cannot be
    written has none.

    Attributes
    ----------
    token
        The token to use.
    port
        The port that the page had last; 0 where that is not known.
    served
        The address of the page that another process is serving now; empty if there is none.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / RECORD
        self.token, self.port, self.served = secrets.token_urlsafe(24), 0, ""
        self._file: int | None = None
        with suppress(OSError):
            self._file = self._opened()
        if self._file is None:
            return
        mine, kept = self._locked(self._file), _content(self._file)
        if kept:
            self.token, self.port = kept["token"], kept["port"]
        if not mine:
            self.served = kept["address"] if kept else ""
            self.close()

    def _opened(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        with suppress(OSError):
            file = os.open(self._path, flags, 0o600)
            about = os.fstat(file)
            mine = about.st_uid == os.geteuid() and about.st_nlink == 1 and not about.st_mode & 0o077
            if stat.S_ISREG(about.st_mode) and mine:
                return file
            os.close(file)
        self._path.unlink()
        return os.open(self._path, flags | os.O_EXCL, 0o600)

    @staticmethod
    def _locked(file: int) -> bool:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    return False
                time.sleep(PATIENCE / 20)
            except OSError:  # a file system without locks
                return True
            else:
                return True

    def keep(self, address: str, port: int) -> None:
        """Write where the page is served."""
        if self._file is None:
            return
        fields = {"token": self.token, "port": port, "address": address, "file": _identity(self._file)}
        content = json.dumps(fields).encode()
        with suppress(OSError):  # a full disk must not stop the page
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, content, 0)

    def close(self) -> None:
        """Release the record. Closing twice is harmless."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _content(file: int) -> dict[str, Any] | None:
    try:
        kept = json.loads(os.pread(file, 4096, 0))
        token, port, address = kept["token"], kept["port"], kept["address"]
        original = kept["file"] == _identity(file)
        if original and TOKEN.fullmatch(token) and 0 < port <= HIGHEST_PORT and address.startswith("http://"):
            return {"token": token, "port": port, "address": address}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    return None


def _identity(file: int) -> str:
    """Return what distinguishes an open file from its copies."""
    found = os.fstat(file)
    return f"{found.st_dev}:{found.st_ino}"


def served(folder: Path) -> str | None:
    """Return the address of the folder's page if it is being served and this user may know it."""
    kept = None
    with suppress(OSError):
        if not is_held(folder / RECORD):
            return None
        file = Folder(folder).open(RECORD)
        if os.fstat(file).st_uid == os.geteuid():
            kept = _content(file)
        os.close(file)
    return kept["address"] if kept else None


class Names:
    """The names by which a page may be called, and those to print.

    A page in another browser window may lead its own host name to this machine; such requests carry that name, and are
    refused. Where the page listens on all interfaces, every numeric address is accepted: none can be led elsewhere.
    """

    def __init__(self, host: str, bound: str) -> None:
        self.any = ipaddress.ip_address(bound).is_unspecified
        self.is_local = ipaddress.ip_address(bound).is_loopback
        self.shown = LOOPBACK if self.any else host
        own = {socket.gethostname(), socket.getfqdn()} if self.any else set[str]()
        self._accepted = {each.lower() for each in (LOOPBACK, "::1", "localhost", host, bound, *own)}

    def accept(self, name: str) -> bool:
        """Return whether a request may call the page by this name: the Host header, with or without a port."""
        found = re.fullmatch(r"(?:\[([^\]]+)\]|([^:]*))(?::\d+)?", name)
        if not found:
            return False
        called = (found[1] or found[2] or "").lower().removesuffix(".")
        return called in self._accepted or (self.any and _is_address(called))

    def others(self) -> list[str]:
        """Return the names and addresses under which other machines may find this one."""
        if not self.any:
            return [] if self.is_local else [self.shown]
        name = socket.gethostname()
        found = dict.fromkeys(_outward())
        with suppress(OSError):
            found |= dict.fromkeys(str(entry[4][0]) for entry in socket.getaddrinfo(name, None))
        usable = [each for each in found if not ipaddress.ip_address(each.partition("%")[0]).is_loopback]
        return [*usable, *([name] if name != "localhost" else [])]


def _outward() -> list[str]:
    """Return the addresses from which this machine would reach others. A datagram socket sends nothing to connect."""
    found = []
    for family, elsewhere in ELSEWHERE.items():
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((elsewhere, 9))
            found.append(str(probe.getsockname()[0]))
    return found


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True


def url(host: str, port: int, token: str) -> str:
    """Return the address of the page. The token is in the fragment, which browsers send to nobody."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/#token={token}"


def tunnel(host: str, port: int) -> str | None:
    """Return the command that brings the page to the machine from which this one is used over ssh."""
    match os.environ.get("SSH_CONNECTION", "").split():
        case [_, _, here, ssh_port]:
            inner = f"[{host}]" if ":" in host else host
            other = f" -p {ssh_port}" if ssh_port != SSH_PORT else ""
            return f"ssh{other} -N -L {port}:{inner}:{port} {getpass.getuser()}@{here}"
    return None
