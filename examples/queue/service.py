"""drover queue work --http http://127.0.0.1:PORT/: each task is the body of a request, the status says what came of it."""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # so that connections are used again

    def do_POST(self):
        task = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = (task["payload"] or {}).get("fail", "").encode()
        self.send_response(500 if answer else 200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Service).serve_forever()
