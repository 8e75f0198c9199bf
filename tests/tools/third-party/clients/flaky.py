"""A proxy with faults in front of a service: `flaky.py ADDRESS` prints the address to call instead.

Of every four requests, the first gets a 503 and is not forwarded. The third is forwarded, but its answer is lost.
Any request before the `Retry-After` time has passed gets a 400.
"""

import http.client
import http.server
import itertools
import sys
import time

upstream = sys.argv[1]
RETRY_AFTER = 1  # seconds
numbers = itertools.count()
not_before = 0.0


class Flaky(http.server.BaseHTTPRequestHandler):
    def pass_on(self):
        global not_before
        number = next(numbers) % 4
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if time.monotonic() < not_before:
            self.answer(400, {}, b'{"code":"too_early","message":"Retry-After was not kept","status":400}')
        elif number == 0:
            not_before = time.monotonic() + RETRY_AFTER
            self.answer(503, {"Retry-After": RETRY_AFTER}, b"<h1>Service Unavailable</h1>")
        else:
            service = http.client.HTTPConnection(upstream, timeout=10)
            service.request(self.command, self.path, body or None, dict(self.headers))
            answered = service.getresponse()
            content = answered.read()
            if number != 2:
                self.answer(answered.status, dict(answered.getheaders()), content)
        self.close_connection = True

    do_GET = do_POST = pass_on

    def answer(self, status, headers, content):
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "content-length" not in {name.lower() for name in headers} and status != 304:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Flaky)
print(f"flaky listens on http://127.0.0.1:{proxy.server_port}", flush=True)
proxy.serve_forever()
