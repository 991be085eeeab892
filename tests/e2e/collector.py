# SPDX-License-Identifier: Apache-2.0
"""A stand-in for an OpenTelemetry collector: OpenTelemetry's own service, which keeps what it is sent."""

import threading
from concurrent import futures

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Listens on a free port, or on `port`; `address` is its own. `answer(number)` of each call may raise, wait, or return
    a response."""

    def __init__(self, answer=None, port=0):
        self.answer = answer or (lambda number: trace_service_pb2.ExportTraceServiceResponse())
        self.changed = threading.Condition()
        self.requests, self.metadata = [], []
        self.server = grpc.server(futures.ThreadPoolExecutor(4), options=[("grpc.so_reuseport", 0)])
        trace_service_pb2_grpc.add_TraceServiceServicer_to_server(self, self.server)
        self.address = f"127.0.0.1:{self.server.add_insecure_port(f'127.0.0.1:{port}')}"
        self.server.start()

    def Export(self, request, context):
        with self.changed:
            self.requests.append(request)
            self.metadata.append(dict(context.invocation_metadata()))
            number = len(self.requests)
            self.changed.notify_all()
        response = self.answer(number)
        if isinstance(response, grpc.StatusCode):
            context.abort(response, "as the test wants it")
        return response

    def spans(self):
        return [span for request in self.requests for resource in request.resource_spans
                for scope in resource.scope_spans for span in scope.spans]

    def await_spans(self, count, seconds=30):
        """The spans, once there are so many."""
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.spans()) >= count, seconds):
                raise AssertionError(f"{len(self.spans())} spans came, not {count}")
            return self.spans()

    def await_calls(self, count, seconds=30):
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.requests) >= count, seconds):
                raise AssertionError(f"{len(self.requests)} calls came, not {count}")

    def stop(self):
        self.server.stop(0).wait()


def attributes(of):
    """Of a span or a resource, as Python's values."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in of.attributes}
