# SPDX-License-Identifier: Apache-2.0
"""Tests the spans that a collector receives for real calls. Run by script/test-oip-clients BUILD tracing_test."""

import collections
import os
import pathlib
import re
import socket
import ssl
import subprocess
import tempfile
import time
import unittest
import unittest.mock
import urllib.error
import urllib.request

import tritonclient.grpc
import tritonclient.http
from opentelemetry.proto.trace.v1 import trace_pb2

import oip_server
from collector import Collector, attributes
from oip_pictures import CIFAR, MODEL, SURE, encoded

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED = f"00-{TRACE}-{PARENT}-01"
PICTURE = CIFAR / SURE[0]
STAGES = ["queue", "decode", "compute", "encode"]


class Tracing(unittest.TestCase):
    def start(self, endpoint, *arguments):
        """Starts a server that sends its spans to `endpoint`, and waits for its model."""
        server = oip_server.Server("--otlp-endpoint", endpoint, *arguments)
        self.addCleanup(server.stop)
        client = tritonclient.grpc.InferenceServerClient(server.grpc)
        server.wait(lambda: client.is_server_ready() and client.is_model_ready(MODEL))
        client.close()
        return server

    def collect(self, *arguments):
        collector = Collector()
        self.addCleanup(collector.stop)
        return collector, self.start(collector.address, *arguments)

    def post(self, server, traceparent=None, model=MODEL):
        headers = {"traceparent": traceparent} if traceparent else {}
        request = urllib.request.Request(f"http://{server.http}/v1/models/{model}:classify", PICTURE.read_bytes(), headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return response.status
        except urllib.error.HTTPError as error:
            return error.code

    def count(self, server, name):
        """Returns the sum over the series of a counter."""
        with urllib.request.urlopen(f"http://{server.metrics}/metrics", timeout=30) as response:
            text = response.read().decode()
        found = re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE)
        self.assertTrue(found, f"{name} is no metric")
        return sum(map(float, found))

    def await_count(self, server, name, wanted):
        server.wait(lambda: self.count(server, name) >= wanted)
        self.assertEqual(self.count(server, name), wanted)

    def check_nested(self, spans):
        """Expects the span of one request and, within its time, the spans of the request's stages, which follow each other. Returns the
        span of the request and the spans of the stages."""
        self.assertEqual(len(spans), 5)
        whole = next(span for span in spans if span.kind == trace_pb2.Span.SPAN_KIND_SERVER)
        stages = [span for span in spans if span is not whole]
        self.assertEqual([span.name for span in stages], STAGES)
        self.assertEqual(len({span.span_id for span in spans}), 5)
        now = time.time_ns()
        self.assertTrue(now - 60e9 < whole.start_time_unix_nano < whole.end_time_unix_nano < now)
        self.assertEqual(stages[0].start_time_unix_nano, whole.start_time_unix_nano)
        last = whole.start_time_unix_nano
        for span in stages:
            self.assertEqual(span.kind, trace_pb2.Span.SPAN_KIND_INTERNAL)
            self.assertEqual((span.trace_id, span.parent_span_id), (whole.trace_id, whole.span_id))
            self.assertTrue(last <= span.start_time_unix_nano <= span.end_time_unix_nano, span.name)
            last = span.end_time_unix_nano
        self.assertLessEqual(last, whole.end_time_unix_nano)
        return whole, stages

    def test_a_call_is_exported_with_its_stages(self):
        collector, server = self.collect()
        said = subprocess.run([pathlib.Path(os.environ["VITRINE_BIN"]) / "vitrine", "classify", str(PICTURE), "--server", server.grpc,
                               "--model", MODEL, "--traceparent", SAMPLED], capture_output=True, text=True, timeout=60)
        self.assertEqual(said.returncode, 0, said.stderr)
        whole, stages = self.check_nested(collector.await_spans(5))
        self.assertEqual((whole.trace_id.hex(), whole.parent_span_id.hex()), (TRACE, PARENT))
        self.assertEqual(whole.flags, 0x301)  # sampled; the parent is known to be remote
        facts = attributes(whole)
        self.assertEqual(whole.name, f"vitrine.v1.Classifier/{facts['rpc.method']}")
        self.assertIn(facts["rpc.method"], ("Classify", "ClassifyStream"))
        for key, value in {"rpc.system": "grpc", "rpc.service": "vitrine.v1.Classifier", "rpc.grpc.status_code": 0,
                           "vitrine.model": MODEL, "vitrine.version": 2, "vitrine.precision": "fp32"}.items():
            self.assertEqual(facts[key], value, key)
        self.assertNotIn("error.type", facts)
        self.assertEqual(whole.status.code, trace_pb2.Status.STATUS_CODE_UNSET)
        batch = attributes(stages[2])
        self.assertEqual(batch["vitrine.batch.images"], 1)
        self.assertEqual(batch["vitrine.batch.tokens"], facts["vitrine.tokens"])
        self.assertGreater(facts["vitrine.tokens"], 0)
        resource = collector.requests[0].resource_spans[0]
        who = attributes(resource.resource)
        self.assertEqual((who["service.name"], who["service.version"]),
                         ("vitrine-server", (oip_server.SOURCE / "VERSION").read_text().strip()))
        self.assertEqual(who["host.name"], socket.gethostname())
        self.assertEqual(resource.scope_spans[0].scope.name, "vitrine")
        self.await_count(server, "vitrine_spans_exported_total", 5)
        self.assertEqual(self.count(server, "vitrine_spans_dropped_total"), 0)

    def test_http_calls_and_errors_are_exported(self):
        collector, server = self.collect()
        self.assertEqual(self.post(server, SAMPLED), 200)
        self.assertEqual(self.post(server, SAMPLED, model="nobody"), 404)
        spans = collector.await_spans(6)
        whole, _ = self.check_nested(spans[:5])
        self.assertEqual(whole.name, "POST /v1/models/{model}:classify")
        self.assertEqual(attributes(whole)["http.response.status_code"], 200)
        refused = attributes(spans[5])
        self.assertEqual((refused["http.response.status_code"], refused["error.type"]), (404, "NOT_FOUND"))
        self.assertEqual(spans[5].status.code, trace_pb2.Status.STATUS_CODE_UNSET)  # unset, because the caller caused the error
        self.assertNotIn("vitrine.version", refused)

    def infer(self, module, address, names, traceparent=None, **options):
        client = module.InferenceServerClient(address)
        self.addCleanup(client.close)
        image = module.InferInput("image", [len(names), 1], "BYTES")
        image.set_data_from_numpy(encoded(names))
        client.infer(MODEL, [image], headers={"traceparent": traceparent} if traceparent else None, **options)

    def check_call(self, spans, pictures):
        """Expects the span of one call, with a child span for each image. The child spans of an image are its stages. Returns the span of
        the call."""
        self.assertEqual(len(spans), 1 + 5 * pictures)
        below = collections.defaultdict(list)
        for span in spans:
            below[span.parent_span_id].append(span)
        call = next(span for span in spans if span.kind == trace_pb2.Span.SPAN_KIND_SERVER)
        self.assertEqual({span.trace_id for span in spans}, {call.trace_id})
        parts = sorted(below[call.span_id], key=lambda span: attributes(span)["vitrine.picture"])
        self.assertEqual([attributes(part)["vitrine.picture"] for part in parts], list(range(pictures)))
        self.assertEqual(attributes(call)["vitrine.pictures"], pictures)
        for part in parts:
            self.assertEqual((part.name, part.kind), ("picture", trace_pb2.Span.SPAN_KIND_INTERNAL))
            self.assertEqual([span.name for span in below[part.span_id]], STAGES)
            self.assertTrue(call.start_time_unix_nano <= part.start_time_unix_nano < part.end_time_unix_nano
                            <= call.end_time_unix_nano)
        return call

    def test_a_call_with_several_images_is_one_server_span(self):
        collector, server = self.collect()
        self.infer(tritonclient.grpc, server.grpc, SURE[:3], SAMPLED, request_id="frames")
        call = self.check_call(collector.await_spans(16), 3)
        self.assertEqual((call.name, call.trace_id.hex(), call.parent_span_id.hex()),
                         ("inference.GRPCInferenceService/ModelInfer", TRACE, PARENT))
        facts = attributes(call)
        self.assertEqual((facts["vitrine.model"], facts["vitrine.version"], facts["vitrine.request_id"]), (MODEL, 2, "frames"))
        self.infer(tritonclient.http, server.http, SURE[:2], SAMPLED)
        call = self.check_call(collector.await_spans(27)[16:], 2)
        self.assertEqual((call.name, attributes(call)["http.response.status_code"]), ("POST /v2/models/{model}/infer", 200))

    def test_a_refused_image_marks_the_calls_span(self):
        collector, server = self.collect()
        with self.assertRaises(tritonclient.utils.InferenceServerException):
            self.infer(tritonclient.grpc, server.grpc, SURE[:3], SAMPLED, timeout=1)  # a timeout of one microsecond
        spans = collector.await_spans(4)
        call = next(span for span in spans if span.kind == trace_pb2.Span.SPAN_KIND_SERVER)
        self.assertEqual((attributes(call)["error.type"], call.status.code),
                         ("DEADLINE_EXCEEDED", trace_pb2.Status.STATUS_CODE_ERROR))
        self.assertEqual(len([span for span in spans if span.parent_span_id == call.span_id]), 3)

    def certificate(self, folder, name):
        """Makes a self-signed certificate. Returns its file, which also has the key."""
        file = folder / f"{name}.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=collector", "-addext", f"subjectAltName={name}", "-keyout", file, "-out", folder / "certificate"],
                       check=True, capture_output=True, timeout=60)
        file.write_text(file.read_text() + (folder / "certificate").read_text())
        return file

    def test_spans_are_exported_over_tls(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        right, other = self.certificate(folder, "IP:127.0.0.1"), self.certificate(folder, "DNS:collector.test")
        for file, trusted, reason in ((right, right, ""), (right, other, "self-signed certificate"), (other, other, "IP address mismatch")):
            with self.subTest(file=file.name, trusted=trusted.name):
                tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                tls.load_cert_chain(file)
                collector = Collector(tls=tls)
                self.addCleanup(collector.stop)
                with unittest.mock.patch.dict(os.environ, SSL_CERT_FILE=str(trusted)):
                    server = self.start(collector.address)
                self.assertEqual(self.post(server, SAMPLED), 200)
                if reason:
                    server.wait(lambda: reason in server.log.read_text())
                    self.assertEqual(collector.requests, [])
                else:
                    collector.await_spans(5)

    def test_headers_are_sent_to_the_collector(self):
        collector = Collector()
        self.addCleanup(collector.stop)
        file = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "headers"
        file.touch(0o600)
        file.write_text("# who sends\nAuthorization: Bearer of-spans\nx-team: vision\n")
        server = self.start(collector.address, "--otlp-headers", str(file))
        self.assertEqual(self.post(server, SAMPLED), 200)
        collector.await_spans(5)
        self.assertEqual((collector.metadata[0]["authorization"], collector.metadata[0]["x-team"]),
                         ("Bearer of-spans", "vision"))

    def test_the_log_has_the_span_id(self):
        collector, server = self.collect("--log-requests", "all", "--log-format", "json")
        self.assertEqual(self.post(server, SAMPLED), 200)
        whole = collector.await_spans(5)[0]
        server.wait(lambda: '"message":"request"' in server.log.read_text())
        self.assertIn(f'"trace_id":"{TRACE}","span_id":"{whole.span_id.hex()}"', server.log.read_text())


if __name__ == "__main__":
    unittest.main()
