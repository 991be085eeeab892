"""Drives a real vitrine-server with the real tritonclient. Run by script/test-tritonclient."""

import base64
import hashlib
import http.client
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request

import numpy
import PIL.Image
import tritonclient.grpc
import tritonclient.http
from google.protobuf import descriptor_pb2, json_format
from tritonclient.grpc import model_config_pb2, service_pb2
from tritonclient.utils import InferenceServerException

import oip_server

CIFAR = oip_server.SOURCE / "samples" / "cifar"
MODEL = "eit-mini-cifar10"
ATTENTIVE = "xcit-n12-f-sne-cifar10"  # for its class attention
LABELS = (oip_server.SOURCE / "bundled" / MODEL / "2" / "labels.txt").read_text().split()
# Pictures that the bundled model gets right, as `vitrine classify` does.
SURE = ["airplane-747.jpg", "horse-bay.jpg", "ship-junk.png", "truck-garbage.jpg"]

server = None


def setUpModule():
    global server
    server = oip_server.Server(models=(MODEL, ATTENTIVE))
    client = tritonclient.grpc.InferenceServerClient(server.grpc)
    server.wait(lambda: client.is_server_ready() and client.is_model_ready(MODEL) and client.is_model_ready(ATTENTIVE))


def tearDownModule():
    code = server.stop()
    assert code == 0, f"vitrine-server ended with {code}"


def encoded(names):
    pictures = [[(CIFAR / name).read_bytes()] for name in names]
    return numpy.array(pictures, dtype=numpy.object_)


def pixels(name):
    """[1, 32, 32, 3] uint8, as the model sees the picture."""
    picture = PIL.Image.open(CIFAR / name).convert("RGB").resize((32, 32), PIL.Image.BICUBIC)
    return numpy.asarray(picture)[None]


def class_of(name):
    return name.split("-")[0]


def words(row):
    """(value, index, label) of "value:index:label"."""
    value, index, label = row.decode().split(":")
    return float(value), int(index), label


class Either:
    """What both clients are asked; `Client`, `module` and `address` are the subclass's."""

    def setUp(self):
        self.client = self.module.InferenceServerClient(self.address())
        self.addCleanup(self.client.close)

    def infer(self, data, datatype, outputs=None, model=MODEL, **arguments):
        image = self.module.InferInput("image", list(data.shape), datatype)
        image.set_data_from_numpy(data)
        if outputs is not None:
            outputs = [self.module.InferRequestedOutput(name, **options) for name, options in outputs]
        return self.client.infer(model, [image], outputs=outputs, **arguments)

    def refused(self, code, sentence, *arguments, **options):
        with self.assertRaises(InferenceServerException) as caught:
            self.infer(*arguments, **options)
        self.assertIn(code, str(caught.exception.status()))
        self.assertIn(sentence, caught.exception.message())

    def test_health(self):
        self.assertTrue(self.client.is_server_live())
        self.assertTrue(self.client.is_server_ready())
        self.assertTrue(self.client.is_model_ready(MODEL))
        self.assertTrue(self.client.is_model_ready(MODEL, "2"))
        self.assertFalse(self.client.is_model_ready(MODEL, "7"))
        self.assertFalse(self.client.is_model_ready("nobody"))

    def test_metadata(self):
        about = self.as_dict(self.client.get_server_metadata())
        self.assertEqual(about["name"], "vitrine")
        self.assertIn("classification", about["extensions"])
        model = self.as_dict(self.client.get_model_metadata(MODEL))
        self.assertEqual(model["versions"], ["2"])
        self.assertEqual([each["name"] for each in model["inputs"]], ["image"])
        shapes = {each["name"]: [int(n) for n in each["shape"]] for each in model["outputs"]}
        self.assertEqual(shapes, {"probabilities": [-1, 10], "logits": [-1, 10]})
        config = self.as_dict(self.client.get_model_config(MODEL))
        config = config.get("config", config)
        self.assertEqual(config["max_batch_size"], 64)
        self.assertEqual(config["input"][0]["data_type"], "TYPE_STRING")

    def test_encoded_picture(self):
        for name in SURE:
            result = self.infer(encoded([name]), "BYTES")
            probabilities = result.as_numpy("probabilities")
            logits = result.as_numpy("logits")
            self.assertEqual((probabilities.shape, probabilities.dtype), ((1, 10), numpy.float32))
            self.assertEqual(LABELS[probabilities[0].argmax()], class_of(name))
            exact = numpy.exp(logits - logits.max())
            numpy.testing.assert_allclose(probabilities, exact / exact.sum(), rtol=1e-4)

    def test_batch_is_each_picture(self):
        whole = self.infer(encoded(SURE), "BYTES", [("logits", {})]).as_numpy("logits")
        self.assertEqual(whole.shape, (len(SURE), 10))
        for row, name in zip(whole, SURE):
            alone = self.infer(encoded([name]), "BYTES", [("logits", {})]).as_numpy("logits")[0]
            numpy.testing.assert_allclose(row, alone, rtol=1e-3, atol=1e-3)

    def test_classification(self):
        result = self.infer(encoded(SURE), "BYTES", [("probabilities", {"class_count": 3}), ("logits", {})])
        best = result.as_numpy("probabilities")
        self.assertEqual(best.shape, (len(SURE), 3))
        for row, logits, name in zip(best, result.as_numpy("logits"), SURE):
            rows = [words(each) for each in row]
            self.assertEqual(rows[0][2], class_of(name))
            self.assertEqual([index for _, index, _ in rows], list(numpy.argsort(-logits)[:3]))
            self.assertEqual([label for _, _, label in rows], [LABELS[index] for _, index, _ in rows])
            self.assertEqual(rows, sorted(rows, reverse=True))

    def test_more_classes_than_there_are(self):
        result = self.infer(encoded(SURE[:1]), "BYTES", [("probabilities", {"class_count": 1000})])
        self.assertEqual(result.as_numpy("probabilities").shape, (1, 10))

    def test_pixels(self):
        for name in SURE:
            image = pixels(name)
            bytes_, floats = image, (image / 255).astype(numpy.float32)
            answers = [
                self.infer(data, datatype, [("logits", {})]).as_numpy("logits")
                for data, datatype in [(bytes_, "UINT8"), (floats, "FP32"),
                                       (bytes_.transpose(0, 3, 1, 2).copy(), "UINT8"),
                                       (floats.transpose(0, 3, 1, 2).copy(), "FP32")]
            ]
            self.assertEqual(LABELS[answers[0][0].argmax()], class_of(name))
            for other in answers[1:]:
                numpy.testing.assert_allclose(other, answers[0], rtol=1e-3, atol=1e-3)

    def test_batch_of_pixels(self):
        batch = numpy.concatenate([pixels(name) for name in SURE])
        whole = self.infer(batch, "UINT8", [("logits", {})]).as_numpy("logits")
        for row, name in zip(whole, SURE):
            self.assertEqual(LABELS[row.argmax()], class_of(name))

    def test_request_id_and_version(self):
        answer = self.as_dict(self.infer(encoded(SURE[:1]), "BYTES", request_id="frame 7",
                                         model_version="2").get_response())
        self.assertEqual((answer["id"], answer["model_name"], answer["model_version"]), ("frame 7", MODEL, "2"))

    def test_priority_and_timeout(self):
        for priority in (1, 2, 3):
            self.infer(encoded(SURE[:1]), "BYTES", priority=priority, timeout=10_000_000)
        self.refused("", "priority", encoded(SURE[:1]), "BYTES", priority=4)
        # A microsecond is over before anything can be computed.
        self.refused(self.codes["DEADLINE_EXCEEDED"], "", encoded(SURE * 16), "BYTES", timeout=1)

    def test_attention(self):
        image = self.module.InferInput("image", [1, 1], "BYTES")
        image.set_data_from_numpy(encoded(SURE[:1]))
        wish = self.module.InferRequestedOutput("attention")
        self.set_text(wish, "kind", "CLASS_ATTENTION")
        values = self.client.infer(ATTENTIVE, [image], outputs=[wish]).as_numpy("attention")
        self.assertEqual((values.ndim, values.shape[0], values.dtype), (3, 1, numpy.float32))
        self.assertGreater(values.sum(), 0)
        self.set_text(wish, "kind", "SPELL")
        with self.assertRaisesRegex(InferenceServerException, "SPELL"):
            self.client.infer(ATTENTIVE, [image], outputs=[wish])

    def test_refusals(self):
        picture = encoded(SURE[:1])
        invalid, missing = self.codes["INVALID_ARGUMENT"], self.codes["NOT_FOUND"]
        self.refused(missing, "nobody", picture, "BYTES", model="nobody")
        self.refused(missing, "", picture, "BYTES", model_version="7")
        self.refused(invalid, "JPEG", numpy.array([[b"no picture"]], dtype=numpy.object_), "BYTES")
        self.refused(invalid, "confidence", picture, "BYTES", [("confidence", {})])
        self.refused(invalid, "[1, 32, 32, 4]", numpy.zeros([1, 32, 32, 4], numpy.uint8), "UINT8")
        self.refused(invalid, "1 to 64", encoded(SURE * 17), "BYTES")
        self.refused(invalid, "INT32", numpy.zeros([1, 32, 32, 3], numpy.int32), "INT32")
        # One bad picture in a batch is named for the whole.
        batch = encoded(SURE)
        batch[2, 0] = batch[2, 0][:200]
        self.refused(invalid, "", batch, "BYTES")

    def test_repository_index(self):
        index = self.as_dict(self.client.get_model_repository_index())
        rows = index if isinstance(index, list) else index["models"]
        states = {row["name"]: (row["version"], row["state"]) for row in rows}
        self.assertEqual(states[MODEL], ("2", "READY"))

    def test_statistics(self):
        def now():
            statistics = self.as_dict(self.client.get_inference_statistics(MODEL))["model_stats"][0]
            stats = statistics["inference_stats"]
            # perf_analyzer ends where these differ.
            self.assertEqual(len({stats[name]["count"] for name in ("compute_input", "compute_infer", "compute_output")}), 1)
            return (int(statistics["inference_count"]), int(stats["success"]["count"]), int(stats["fail"].get("count", 0)),
                    int(stats["compute_infer"]["ns"]))

        self.infer(encoded(SURE[:1]), "BYTES")
        before = now()
        self.infer(encoded(SURE), "BYTES")
        self.refused("", "", numpy.array([[b"no picture"]], dtype=numpy.object_), "BYTES")
        after = now()
        self.assertEqual(after[0] - before[0], len(SURE))
        self.assertEqual(after[1] - before[1], len(SURE))
        self.assertEqual(after[2] - before[2], 1)
        self.assertGreater(after[3], before[3])


class Grpc(Either, unittest.TestCase):
    module = tritonclient.grpc
    codes = {name: f"StatusCode.{name}" for name in ("INVALID_ARGUMENT", "NOT_FOUND", "DEADLINE_EXCEEDED")}

    def address(self):
        return server.grpc

    def as_dict(self, message):
        return json_format.MessageToDict(message, preserving_proto_field_name=True)

    def set_text(self, output, name, text):
        output._get_tensor().parameters[name].string_param = text

    def test_typed_contents(self):
        """Values in `contents`, which tritonclient itself never sends."""
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

    def test_stream(self):
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

    def test_loading_is_for_administrators(self):
        for action in (self.client.load_model, self.client.unload_model):
            with self.assertRaises(InferenceServerException) as caught:
                action(MODEL)
            self.assertEqual(caught.exception.status(), "StatusCode.PERMISSION_DENIED")
        self.assertTrue(self.client.is_model_ready(MODEL))

    def test_what_is_not_served(self):
        with self.assertRaises(InferenceServerException) as caught:
            self.client.get_system_shared_memory_status()
        self.assertEqual(caught.exception.status(), "StatusCode.UNIMPLEMENTED")

    def test_names_and_numbers_are_the_protocols(self):
        """Every message, field, enum value and method of ours is the public one's."""
        ours = descriptor_pb2.FileDescriptorSet()
        ours.ParseFromString((pathlib.Path(sys.argv[1]) / "gen" / "inference.binpb").read_bytes())
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


class Http(Either, unittest.TestCase):
    module = tritonclient.http
    codes = {"INVALID_ARGUMENT": "400", "NOT_FOUND": "404", "DEADLINE_EXCEEDED": "504"}

    def address(self):
        return server.http

    def as_dict(self, value):
        return value

    def set_text(self, output, name, text):
        output._parameters[name] = text

    def post(self, body, path=f"/v2/models/{MODEL}/infer", **headers):
        connection = http.client.HTTPConnection(server.http, timeout=30)
        self.addCleanup(connection.close)
        connection.request("POST", path, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def test_json_data(self):
        """Values as JSON, nested and flat, and the answer as JSON."""
        image = pixels(SURE[1])
        for data in (image.tolist(), image.ravel().tolist()):
            status, answer = self.post(json.dumps({
                "inputs": [{"name": "image", "datatype": "UINT8", "shape": [1, 32, 32, 3], "data": data}],
                "outputs": [{"name": "probabilities", "parameters": {"classification": 1}}]}))
            self.assertEqual(status, 200, answer)
            self.assertEqual(answer["outputs"][0]["data"][0].split(":")[2], "horse")
        text = base64.b64encode((CIFAR / SURE[1]).read_bytes()).decode()
        status, answer = self.post(json.dumps({
            "id": "a", "inputs": [{"name": "image", "datatype": "BYTES", "shape": [1], "data": [text],
                                   "parameters": {"content_type": "base64"}}]}))
        self.assertEqual((status, answer["id"]), (200, "a"))
        self.assertEqual(LABELS[numpy.argmax(answer["outputs"][0]["data"])], "horse")

    def test_binary_and_json_answers(self):
        for binary in (True, False):
            result = self.infer(encoded(SURE[:2]), "BYTES", [("logits", {"binary_data": binary})])
            self.assertEqual("data" in result.get_response()["outputs"][0], not binary)
            self.assertEqual(result.as_numpy("logits").shape, (2, 10))

    def test_malformed_bodies(self):
        tensor = {"name": "image", "datatype": "UINT8", "shape": [1, 2, 2, 3], "data": list(range(12))}

        def with_(**change):
            return json.dumps({"inputs": [{**tensor, **change}]})

        for body, sentence in [
            ("", "not JSON"), ("{", "not JSON"), ("[" * 100000, "nested deeper"), ("[]", "object"), ("{}", "inputs"),
            ('{"inputs": 3}', "array"), ('{"inputs": [3]}', "objects"), (with_(data=[1, 2]), "2 values"),
            (with_(data=[300] * 12), "255"), (with_(data=[-1] * 12), "255"), (with_(data=[1.5] * 12), "255"),
            (with_(data=["a"]), "255"), (with_(shape=[1, -1, 1, 3]), "whole numbers"), (with_(shape=[1e9, 1, 1, 3]), "whole"),
            (with_(shape=[1, 2**31 - 1, 2**31 - 1, 3]), "8192"), (with_(shape=[0, 1, 1, 3]), "1 to 64"),
            (with_(shape=[2**62] * 9), "dimensions"), (with_(datatype="FP32", data=[1e39, 0, 0]), "range"),
            ('{"inputs":[{"name":"image","datatype":"FP32","shape":[1,1,1,3],"data":[1e999,0,0]}]}', "JSON"),
            (with_(parameters={"binary_data_size": 3}), "either"), (with_(parameters={"shared_memory_region": "a"}), "shared"),
            (with_(parameters={"colour": "red"}), "colour"), (with_(parameters={"layout": [1]}), "layout"),
            (json.dumps({"inputs": [tensor], "parameters": {"priority": "high"}}), "whole number"),
            (json.dumps({"inputs": [tensor], "id": 3}), "string"), (json.dumps({"inputs": [tensor] * 2}), "2 inputs"),
            (b'{"id": "\xff\xfe"}', "not JSON"), (with_(shape=[1, 1, 1, 3], data=[1, 2, 3]), "both ways"), (with_(data=[[[[[[[[[[1]]]]]]]]]]), "nested"),
        ]:
            status, answer = self.post(body)
            self.assertIn(status, (400, 501), body[:80])
            self.assertIn(sentence, answer["error"], body[:80])

    def test_malformed_lengths(self):
        head = json.dumps({"inputs": [{"name": "image", "datatype": "UINT8", "shape": [1, 1, 1, 3],
                                       "parameters": {"binary_data_size": 3, "layout": "NHWC"}}]})
        for length, body, sentence in [("-1", head, "no number"), ("x", head, "no number"), ("99999", head, "99999"),
                                       ("99999999999999999999999", head, "no number"),
                                       (str(len(head)), head + "ab", "2 bytes are left"),
                                       (str(len(head)), head + "abcd", "belong to no input"), ("5", head, "not JSON")]:
            status, answer = self.post(body, Inference_Header_Content_Length=length)
            self.assertEqual(status, 400)
            self.assertIn(sentence, answer["error"])
        status, answer = self.post(head + "abc", Inference_Header_Content_Length=str(len(head)))
        self.assertEqual(status, 200, answer)

    def test_bodies_that_are_refused_unread(self):
        self.assertEqual(self.post(b"x", Content_Encoding="gzip")[0], 400)
        connection = http.client.HTTPConnection(server.http, timeout=30)
        self.addCleanup(connection.close)
        connection.putrequest("POST", f"/v2/models/{MODEL}/infer")
        connection.putheader("Content-Length", str(1 << 40))
        connection.endheaders()
        answer = connection.getresponse()
        self.assertEqual(answer.status, 429)
        self.assertIn("at most", json.loads(answer.read())["error"])

    def test_large_json_is_refused(self):
        status, answer = self.post("[" + "0," * (3 << 20) + "0]")
        self.assertEqual(status, 400)
        self.assertIn("binary", answer["error"])

    def test_other_paths(self):
        for method, path in [("GET", "/"), ("GET", "/v1"), ("GET", f"/v2/models/{MODEL}/infer"), ("GET", "/etc/passwd"),
                             ("POST", f"/v2/models/{MODEL}"), ("DELETE", f"/v2/models/{MODEL}"),
                             ("GET", "/v2/models/../../etc/passwd"), ("POST", "/v2/repository/models/x/load")]:
            connection = http.client.HTTPConnection(server.http, timeout=30)
            connection.request(method, path)
            answer = connection.getresponse()
            self.assertEqual(answer.status, 404, path)
            self.assertIn("error", json.loads(answer.read()))
            connection.close()


class Operated(unittest.TestCase):
    """Loading on the admin listener, and bearer tokens over gRPC and HTTP."""

    TOKEN = "open-sesame-" * 4

    def start(self, *arguments):
        operated = oip_server.Server(*arguments)
        self.addCleanup(lambda: self.assertEqual(operated.stop(), 0))
        return operated

    def test_load_and_unload_on_the_admin_listener(self):
        operated = self.start("--admin", "unix://{folder}/admin")
        client = tritonclient.grpc.InferenceServerClient(operated.grpc)
        admin = tritonclient.grpc.InferenceServerClient(f"unix://{operated.folder}/admin")
        operated.wait(lambda: client.is_model_ready(MODEL))
        admin.unload_model(MODEL)
        self.assertFalse(client.is_model_ready(MODEL))
        admin.load_model(MODEL)
        self.assertTrue(client.is_model_ready(MODEL))
        with self.assertRaisesRegex(InferenceServerException, "no configuration"):
            admin.load_model(MODEL, config="{}")
        with self.assertRaises(InferenceServerException) as caught:
            admin.load_model("nobody")
        self.assertEqual(caught.exception.status(), "StatusCode.NOT_FOUND")
        self.assertIn("RepositoryModelLoad", operated.log.read_text())

    def test_tokens(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        tokens = pathlib.Path(folder.name) / "tokens"
        tokens.touch(0o600)
        tokens.write_text(f"ci sha256:{hashlib.sha256(self.TOKEN.encode()).hexdigest()}\n")
        operated = self.start("--tokens", str(tokens))
        for module, address, wrong in [(tritonclient.grpc, operated.grpc, "StatusCode.UNAUTHENTICATED"),
                                       (tritonclient.http, operated.http, "401")]:
            client = module.InferenceServerClient(address)
            self.addCleanup(client.close)
            operated.wait(client.is_server_ready)
            image = module.InferInput("image", [1, 1], "BYTES")
            image.set_data_from_numpy(encoded(SURE[:1]))
            right = {"authorization": f"Bearer {self.TOKEN}"}
            client.infer(MODEL, [image], headers=right)
            client.get_model_metadata(MODEL, headers=right)
            for headers in (None, {"authorization": f"Bearer {self.TOKEN}x"}):
                for call in (lambda: client.infer(MODEL, [image], headers=headers),
                             lambda: client.get_model_metadata(MODEL, headers=headers),
                             lambda: client.get_model_config(MODEL, headers=headers),
                             lambda: client.get_model_repository_index(headers=headers),
                             lambda: client.get_inference_statistics(MODEL, headers=headers)):
                    with self.assertRaises(InferenceServerException) as caught:
                        call()
                    self.assertEqual(caught.exception.status(), wrong)
        with urllib.request.urlopen(f"http://{operated.metrics}/metrics") as page:
            self.assertIn('vitrine_authorization_refusals_total{code="UNAUTHENTICATED"} 20\n', page.read().decode())

    def test_tokens_never_reach_the_network_in_plaintext(self):
        with tempfile.TemporaryDirectory() as folder:
            tokens = pathlib.Path(folder) / "tokens"
            tokens.touch(0o600)
            tokens.write_text(f"ci sha256:{hashlib.sha256(self.TOKEN.encode()).hexdigest()}\n")
            ended = subprocess.run([oip_server.PROGRAM, "--repository", oip_server.SOURCE / "bundled", "--listen",
                                    "127.0.0.1:0", "--http", "0.0.0.0:0", "--tokens", tokens],
                                   capture_output=True, text=True, timeout=60)
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("--http", ended.stdout + ended.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=1)
