"""A client of the language server: speaks the protocol over its standard streams."""
import json
import os
import select
import subprocess


class Failure(Exception):
    pass


class Client:
    def __init__(self, tilec, arguments=(), wait=20.0):
        self.process = subprocess.Popen([tilec, "lsp", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.wait, self.number, self.buffer = wait, 0, b""
        self.diagnostics = {}

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def _more(self):
        ready, _, _ = select.select([self.process.stdout], [], [], self.wait)
        data = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
        if not data:
            raise Failure("the server says nothing" if not ready else "the server has ended")
        self.buffer += data

    def receive(self):
        while b"\r\n\r\n" not in self.buffer:
            self._more()
        head, _, rest = self.buffer.partition(b"\r\n\r\n")
        length = int(head.split(b":")[1])
        while len(rest) < length:
            self._more()
            _, _, rest = self.buffer.partition(b"\r\n\r\n")
        self.buffer = rest[length:]
        message = json.loads(rest[:length])
        if message.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]
        return message

    def ask(self, method, params=None):
        """The whole answer, with "result" or "error"."""
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            message = self.receive()
            if message.get("id") == self.number:
                return message

    def tell(self, method, params):
        self.send({"method": method, "params": params})

    # ---- a session ----
    def start(self, **capabilities):
        answer = self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": capabilities})
        self.tell("initialized", {})
        return answer["result"]

    def open(self, uri, text, version=1):
        self.tell("textDocument/didOpen",
                  {"textDocument": {"uri": uri, "languageId": "tile", "version": version, "text": text}})
        return self.published(uri)

    def published(self, uri):
        while True:
            message = self.receive()
            if message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri:
                return message["params"]["diagnostics"]

    def shown(self):
        while True:
            message = self.receive()
            if message.get("method") == "window/showMessage":
                return message["params"]["message"]

    def change(self, uri, version, *changes):
        self.tell("textDocument/didChange",
                  {"textDocument": {"uri": uri, "version": version}, "contentChanges": list(changes)})

    def at(self, method, uri, line, character, **more):
        return self.ask("textDocument/" + method, {"textDocument": {"uri": uri},
                                                   "position": {"line": line, "character": character}, **more})

    def stop(self):
        self.ask("shutdown")
        self.tell("exit", None)
        return self.process.wait(self.wait)
