# SPDX-License-Identifier: Apache-2.0
"""Tests a real vitrine-server over gRPC with the real tritonclient. Run by script/test-oip-clients."""

import io
import os
import pathlib
import threading
import unittest

import numpy
import PIL.Image
import tritonclient.grpc
from google.protobuf import descriptor_pb2, json_format
from tritonclient.grpc import model_config_pb2, service_pb2
from tritonclient.utils import InferenceServerException

from oip_client_case import OipClientCase
from oip_pictures import CIFAR, MODEL, SURE, class_of, encoded, pixels, words


class Grpc(OipClientCase, unittest.TestCase):
    module = tritonclient.grpc
    codes = {name: f"StatusCode.{name}" for name in ("INVALID_ARGUMENT", "NOT_FOUND")}
    gzip = {"compression_algorithm": "gzip"}

    def address(self):
        return self.server.grpc

    def as_dict(self, message):
        return json_format.MessageToDict(message, preserving_proto_field_name=True)

    def set_text(self, output, name, text):
        output._get_tensor().parameters[name].string_param = text

    def set_truth(self, output, name, truth):
        output._get_tensor().parameters[name].bool_param = truth

    def test_answers_above_the_clients_limit_are_refused(self):
        """The server rejects a request whose answer is above gRPC's default receive limit. The error names the client's
        option that must be raised."""
        large = io.BytesIO()  # an image with the model's maximum number of tokens
        PIL.Image.open(CIFAR / SURE[1]).resize((300, 300)).save(large, "JPEG")
        image, few = (tritonclient.grpc.InferInput("image", [pictures, 1], "BYTES") for pictures in (64, 8))
        image.set_data_from_numpy(numpy.array([[large.getvalue()]] * 64, dtype=numpy.object_))
        few.set_data_from_numpy(numpy.array([[large.getvalue()]] * 8, dtype=numpy.object_))
        requested = tritonclient.grpc.InferRequestedOutput("attention")
        self.set_text(requested, "kind", "weights")
        each = self.client.infer(MODEL, [few], outputs=[requested]).as_numpy("attention").nbytes // 8
        self.assertGreater(64 * each, 4 << 20, "the test's answer is too small")
        with self.assertRaises(InferenceServerException) as caught:
            self.client.infer(MODEL, [image], outputs=[requested])
        self.assertEqual(caught.exception.status(), "StatusCode.RESOURCE_EXHAUSTED")
        self.assertIn("grpc.max_receive_message_length", caught.exception.message())
        for said in ("-1", str(64 * each + 4096)):
            whole = self.client.infer(MODEL, [image], outputs=[requested], headers={"max-receive-message-length": said})
            self.assertEqual(whole.as_numpy("attention").nbytes, 64 * each)
        with self.assertRaises(InferenceServerException):
            self.client.infer(MODEL, [image], outputs=[requested], headers={"max-receive-message-length": str(64 * each - 1)})

    def test_the_last_answer_of_a_stream_is_marked(self):
        answers, come = [], threading.Event()

        def take(result, error):
            answers.append(error if result is None else result.get_response())
            if len(answers) == 2:
                come.set()

        image = tritonclient.grpc.InferInput("image", [1, 1], "BYTES")
        image.set_data_from_numpy(encoded(SURE[:1]))
        self.client.start_stream(take)
        for asks in (True, False):
            self.client.async_stream_infer(MODEL, [image], enable_empty_final_response=asks)
        self.assertTrue(come.wait(30))
        self.client.stop_stream()
        self.assertTrue(answers[0].parameters["triton_final_response"].bool_param)
        self.assertNotIn("triton_final_response", answers[1].parameters)

    def test_typed_contents_are_accepted(self):
        """Sends values in the field `contents`, which tritonclient never uses."""
        stub = self.client._client_stub
        floats = (pixels(SURE[1]) / 255).astype(numpy.float32)
        for datatype, field, values in [("FP32", "fp32_contents", floats.ravel()),
                                        ("UINT8", "uint_contents", pixels(SURE[1]).ravel())]:
            request = service_pb2.ModelInferRequest(model_name=MODEL)
            tensor = request.inputs.add(name="image", datatype=datatype, shape=[1, 32, 32, 3])
            getattr(tensor.contents, field).extend(values.tolist())
            request.outputs.add(name="probabilities").parameters["classification"].int64_param = 1
            answer = stub.ModelInfer(request)
            self.assertIn(b"horse", answer.raw_output_contents[0])
        request = service_pb2.ModelInferRequest(model_name=MODEL)
        tensor = request.inputs.add(name="image", datatype="BYTES", shape=[1])
        tensor.contents.bytes_contents.append((CIFAR / SURE[0]).read_bytes())
        self.assertEqual(len(stub.ModelInfer(request).outputs), 2)

    def test_stream_answers_each_request(self):
        answers, come = [], threading.Event()

        def take(result, error):
            answers.append((result, error))
            if len(answers) == len(SURE) + 1:
                come.set()

        self.client.start_stream(take)
        for number, name in enumerate([*SURE, None]):
            data = encoded([name]) if name else numpy.array([[b"no picture"]], dtype=numpy.object_)
            image = tritonclient.grpc.InferInput("image", [1, 1], "BYTES")
            image.set_data_from_numpy(data)
            output = tritonclient.grpc.InferRequestedOutput("probabilities", class_count=1)
            self.client.async_stream_infer(MODEL, [image], request_id=str(number), outputs=[output])
        self.assertTrue(come.wait(30))
        self.client.stop_stream()
        for number, (name, (result, error)) in enumerate(zip(SURE, answers)):
            self.assertIsNone(error)
            self.assertEqual(result.get_response().id, str(number))
            self.assertEqual(words(result.as_numpy("probabilities")[0, 0])[2], class_of(name))
        self.assertIn("INVALID_ARGUMENT", str(answers[-1][1]))

    def test_a_stream_has_several_requests_in_flight(self):
        def counts():
            statistics = self.client.get_inference_statistics(MODEL).model_stats[0]
            return statistics.inference_count, statistics.execution_count

        requests, answers, come = 300, [], threading.Event()

        def take(result, error):
            answers.append((result.get_response().id if error is None else None, error))
            if len(answers) == requests:
                come.set()

        image = tritonclient.grpc.InferInput("image", [1, 32, 32, 3], "UINT8")
        image.set_data_from_numpy(pixels(SURE[1]))
        before = counts()
        self.client.start_stream(take, compression_algorithm="gzip")
        for number in range(requests):
            self.client.async_stream_infer(MODEL, [image], request_id=str(number))
        self.assertTrue(come.wait(60))
        self.client.stop_stream()
        self.assertEqual(answers, [(str(number), None) for number in range(requests)])
        inferences, executions = (now - then for now, then in zip(counts(), before))
        self.assertEqual(inferences, requests)
        self.assertLess(executions, requests, "no two of them were computed together")

    def test_names_and_numbers_equal_the_protocol(self):
        """Every message, field, enum value and method of our .proto file equals its public definition."""
        ours = descriptor_pb2.FileDescriptorSet()
        ours.ParseFromString((pathlib.Path(os.environ["VITRINE_BUILD"]) / "gen" / "inference.binpb").read_bytes())
        public = {}
        methods = {}
        for module in (service_pb2, model_config_pb2):
            file = descriptor_pb2.FileDescriptorProto()
            module.DESCRIPTOR.CopyToProto(file)
            collect(file.message_type, file.enum_type, "", public)
            for service in file.service:
                for method in service.method:
                    methods[method.name] = signature(method)
        seen = {}
        for file in ours.file:
            collect(file.message_type, file.enum_type, "", seen)
            for service in file.service:
                self.assertEqual(service.name, "GRPCInferenceService")
                for method in service.method:
                    self.assertEqual(signature(method), methods[method.name])
        self.assertGreater(len(seen), 100)
        for name, what in seen.items():
            self.assertEqual(public.get(name), what, name)


def collect(messages, enums, prefix, names):
    for message in messages:
        for field in message.field:
            oneof = message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else None
            names[f"{prefix}{message.name}.{field.name}"] = (field.number, field.label, field.type, field.type_name, oneof)
        collect(message.nested_type, message.enum_type, f"{prefix}{message.name}.", names)
    for enum in enums:
        for value in enum.value:
            names[f"{prefix}{enum.name}.{value.name}"] = value.number


def signature(method):
    return (method.input_type, method.output_type, method.client_streaming, method.server_streaming)
