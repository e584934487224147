"""A hub on this machine: the few answers that `snapshot_download` asks for, from a folder of files."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread


class Hub(ThreadingHTTPServer):
    """Serves one repository at one commit. `gated`: files only with the token `Bearer let-me-in`."""

    def __init__(self, repo: str, commit: str, folder: Path, *, gated: bool = False):
        super().__init__(("127.0.0.1", 0), Answers)
        self.repo, self.commit, self.folder, self.gated = repo, commit, folder, gated
        self.fetched: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def files(self) -> dict[str, bytes]:
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in paths}


class Answers(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        hub, path = self.server, self.path.partition("?")[0]
        files = hub.files()
        if path == f"/api/models/{hub.repo}/revision/{hub.commit}":
            return self.answer(json.dumps({"id": hub.repo, "sha": hub.commit}).encode())
        if path == f"/api/models/{hub.repo}/tree/{hub.commit}":
            tree = [{"type": "file", "path": n, "size": len(c), "oid": oid(c)} for n, c in files.items()]
            return self.answer(json.dumps(tree).encode())
        name = path.removeprefix(f"/{hub.repo}/resolve/{hub.commit}/")
        if name not in files:
            return self.answer(b"", 404, {"X-Error-Code": "EntryNotFound"})
        if hub.gated and self.headers.get("Authorization") != "Bearer let-me-in":
            return self.answer(b"", 401, {"X-Error-Code": "GatedRepo"})
        if self.command == "GET":
            hub.fetched.append(name)
        return self.answer(files[name], more={"ETag": f'"{oid(files[name])}"', "X-Repo-Commit": hub.commit})

    def answer(self, body: bytes, status: int = 200, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in {"Content-Length": str(len(body)), **(more or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


def oid(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


@contextmanager
def serving(*arguments, **options) -> Iterator[Hub]:
    with Hub(*arguments, **options) as hub:
        Thread(target=hub.serve_forever, daemon=True).start()
        yield hub
        hub.shutdown()
