# SPDX-License-Identifier: Apache-2.0
"""A fake OpenTelemetry collector that receives OTLP over HTTP and keeps the requests."""

import http.server
import threading

from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

PROTOBUF = "application/x-protobuf"


class Collector:
    """Listens on a free port; see `address`. With `tls`, an ssl.SSLContext, it uses HTTPS."""

    def __init__(self, tls=None):
        self.changed = threading.Condition()
        self.requests, self.metadata = [], []
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                if (self.path, self.headers["content-type"]) != ("/v1/traces", PROTOBUF):
                    return self.reply(404 if self.path != "/v1/traces" else 415)
                self.reply(200, collector.take(body, {name.lower(): value for name, value in self.headers.items()}))

            def reply(self, code, body=b""):
                self.send_response(code)
                self.send_header("content-type", PROTOBUF)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        class Listener(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 16

            def handle_error(self, request, client_address):
                pass  # the client closed the connection, or its handshake failed

            def finish_request(self, request, client_address):
                if tls:
                    request = tls.wrap_socket(request, server_side=True)
                super().finish_request(request, client_address)

        self.server = Listener(("127.0.0.1", 0), Handler)
        self.address = f"{'https' if tls else 'http'}://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def take(self, body, headers):
        """Stores a request. Returns the body of the answer."""
        with self.changed:
            self.requests.append(trace_service_pb2.ExportTraceServiceRequest.FromString(body))
            self.metadata.append(headers)
            self.changed.notify_all()
        return trace_service_pb2.ExportTraceServiceResponse().SerializeToString()

    def spans(self):
        return [span for request in self.requests for resource in request.resource_spans
                for scope in resource.scope_spans for span in scope.spans]

    def await_spans(self, count, seconds=30):
        """Returns the spans once there are at least `count`."""
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.spans()) >= count, seconds):
                raise AssertionError(f"{len(self.spans())} spans came, not {count}")
            return self.spans()

    def stop(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def attributes(of):
    """Returns the attributes of a span or a resource as Python values."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in of.attributes}
