# SPDX-License-Identifier: Apache-2.0
"""The requests that wire_replay_test records, byte by byte. They are used in its mode `record` only.

An HTTP/2 request is a list of steps: headers, data (bytes or a repeated byte), reset, wait."""

import base64
import struct
import zlib

from wire_messages import SOURCE, make

DIGIT = (SOURCE / "samples/digits/digit-1.png").read_bytes()
MODEL = "kv-pos-mnist"
CLASSIFY, CLASSIFY_STREAM = "/vitrine.v1.Classifier/Classify", "/vitrine.v1.Classifier/ClassifyStream"
LIST, GET_MODEL, WATCH_MODELS = (f"/vitrine.v1.Registry/{name}" for name in ("ListModels", "GetModel", "WatchModels"))
CHECK, WATCH = "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
OIP, ADMIN = "/inference.GRPCInferenceService/", "/vitrine.v1.Admin/"
REQUESTS = []


def text(data):
    return base64.b64encode(data).decode()


def classify(**fields):
    return make("vitrine.v1.ClassifyRequest", **{"model": MODEL, "image": text(DIGIT)} | fields)


def infer(**fields):
    tensor = {"name": "image", "datatype": "BYTES", "shape": [1], "contents": {"bytes_contents": [text(DIGIT)]}}
    return make("inference.ModelInferRequest", **{"model_name": MODEL, "inputs": [tensor]} | fields)


def raw_infer(data=DIGIT, **fields):
    tensor = {"name": "image", "datatype": "BYTES", "shape": [1]}
    return infer(inputs=[tensor], raw_input_contents=[text(struct.pack("<I", len(data)) + data)], **fields)


def prefixed(data, flag=0):
    return bytes([flag]) + len(data).to_bytes(4, "big") + data


def gzip(data):
    made = zlib.compressobj(9, zlib.DEFLATED, 31)
    return made.compress(data) + made.flush()


def head(path, end=False, **others):
    fields = {":method": "POST", ":scheme": "http", ":authority": "localhost", ":path": path, "te": "trailers",
              "content-type": "application/grpc", "user-agent": "wire-replay/1"}
    fields.update({name.replace("__", ":").replace("_", "-"): value for name, value in others.items()})
    return ["headers", [[name, value] for name, value in fields.items() if value is not None], end]


def body(data, end=True):
    return ["data", text(data), end]


def repeated(data, byte, count, end=True):
    """Returns a step that sends `data`, then one byte repeatedly."""
    return ["repeated", text(data), byte, count, end]


def fill(letter, count):
    """Returns a header value that repeats a letter."""
    return [letter, count]


def add(name, steps, server="plain", port="grpc", until="end"):
    if any(each["name"] == name for each in REQUESTS):
        raise ValueError(name)
    REQUESTS.append({"name": name, "server": server, "port": port, "steps": steps, "until": until})


def call(name, path, *messages, server="plain", port="grpc", until="end", end=True, **headers):
    """Returns a call with these messages, one DATA frame each."""
    steps = [head(path, **headers)]
    steps += [body(prefixed(each), end and number == len(messages)) for number, each in enumerate(messages, 1)]
    if not messages and end:
        steps.append(body(b""))
    add(name, steps, server, port, until)


def http(name, target, method="GET", content=b"", port="http", server="plain", version="HTTP/1.1", head_of=None, **headers):
    lines = {"Host": "localhost", **({"Content-Length": str(len(content))} if content or method in ("POST", "PUT") else {}), "Connection": "close"}
    lines.update({key.replace("_", "-"): value for key, value in headers.items()})
    raw = f"{method} {target} {version}\r\n" + "".join(f"{key}: {value}\r\n" for key, value in lines.items() if value is not None) + "\r\n"
    REQUESTS.append({"name": name, "server": server, "port": port, "http1": text((head_of or raw.encode()) + content)})


# Classifier

call("classify: a picture", CLASSIFY, classify())
call("classify: over the unix socket", CLASSIFY, classify(), port="socket")
call("classify: every option", CLASSIFY, classify(top_k=2, priority="HIGH", request_id="abc \u00e4", version="1", time_limit=30))
call("classify: a version that is not there", CLASSIFY, classify(version="77"))
call("classify: an unknown model", CLASSIFY, classify(model="absent"))
call("classify: no model", CLASSIFY, classify(model=""))
call("classify: an unknown label", CLASSIFY, classify(version_label="canary"))
call("classify: no picture", CLASSIFY, make("vitrine.v1.ClassifyRequest", model=MODEL))
call("classify: an empty message", CLASSIFY, b"")
call("classify: a picture that is none", CLASSIFY, classify(image=text(b"no picture")))
call("classify: a picture that is cut off", CLASSIFY, classify(image=text(DIGIT[:100])))
call("classify: top_k of 0", CLASSIFY, classify(top_k=0))
call("classify: top_k of 1,000", CLASSIFY, classify(top_k=1000))
call("classify: attention of no kind", CLASSIFY, classify(attention=[{}]))
call("classify: a request_id that is too long", CLASSIFY, classify(request_id="x" * 300))
call("classify: a resolution", CLASSIFY, classify(resolution={"height": 48, "width": 48}))
call("classify: a tensor", CLASSIFY, make("vitrine.v1.ClassifyRequest", model=MODEL, tensor={"data_type": "DATA_UINT8", "height": 28, "width": 28, "channels": 1, "data": text(bytes(784))}))
call("classify: a tensor of a wrong length", CLASSIFY, make("vitrine.v1.ClassifyRequest", model=MODEL, tensor={"data_type": "DATA_UINT8", "height": 28, "width": 28, "channels": 1, "data": text(bytes(10))}))
call("classify: a tensor without type", CLASSIFY, make("vitrine.v1.ClassifyRequest", model=MODEL, tensor={"height": 2, "width": 2, "channels": 1, "data": text(bytes(4))}))
call("classify: features without predictions", CLASSIFY, classify(omit_predictions=True, features=[{}]))
call("classify: a time_limit of 0", CLASSIFY, classify(time_limit=0.0))

# Malformed messages

for _name, _bytes in [("of no wire type", b"\x0f"), ("that ends in a field", b"\x0a\x20abc"), ("with the field number 0", b"\x02\x01a"), ("with a name that is no UTF-8", b"\x0a\x02\xff\xfe"),
                      ("with a varint of eleven bytes", b"\x10" + b"\xff" * 11), ("with a group that does not end", b"\x0b\x0a\x01a"), ("of random bytes", bytes(range(100, 160)))]:
    call(f"bytes: a message {_name}", CLASSIFY, _bytes)
call("bytes: unknown fields are passed over", CLASSIFY, classify() + b"\xfa\x7f\x03abc")
call("bytes: a field twice, the last counts", CLASSIFY, classify(model="absent") + classify(model=MODEL))
call("bytes: no message of ModelInfer", OIP + "ModelInfer", b"\x0a\x20abc")
call("bytes: no message of ListModels", LIST, b"\x0a\x20abc")
call("bytes: no message of Check", CHECK, b"\x0a\x20abc")
call("bytes: no message of an OIP method", OIP + "ModelReady", b"\x0f")

# Framing of gRPC

add("framing: zero messages", [head(CLASSIFY), body(b"")])
add("framing: zero messages, END_STREAM of the head", [head(CHECK, True)])
add("framing: two messages in a unary call", [head(CHECK), body(prefixed(b"") * 2)])
add("framing: two messages in a unary call, of Classify", [head(CLASSIFY), body(prefixed(classify()) * 2)])
add("framing: half a prefix", [head(CHECK), body(b"\0\0\0")])
add("framing: half a message", [head(CLASSIFY), body(prefixed(classify())[:-20])])
add("framing: a message and half a prefix", [head(CHECK), body(prefixed(b"") + b"\0\0")])
add("framing: the compressed flag is 2", [head(CHECK), body(prefixed(b"", 2))])
add("framing: compressed without grpc-encoding", [head(CHECK), body(prefixed(gzip(b""), 1))])
add("framing: a byte a frame", [head(CHECK), *(body(bytes([byte]), at == 4) for at, byte in enumerate(prefixed(b"")))])
add("framing: empty DATA between", [head(CHECK), body(b"", False), body(b"\0\0", False), body(b"", False), body(b"\0\0\0", False), body(b"")])
add("framing: END_STREAM in a DATA of its own", [head(CHECK), body(prefixed(b""), False), body(b"")])
add("framing: an answer is sent before the half-close", [head(CHECK), body(prefixed(b""), False)], until="quiet")
add("framing: a message over the limit", [head(CLASSIFY), repeated(b"\0" + (17 << 20).to_bytes(4, "big"), 0, 17 << 20)])
add("framing: a message far over the limit, announced alone", [head(CLASSIFY), body(b"\0\xff\xff\xff\xff", False)], until="quiet")
add("framing: a message at the limit that is no picture", [head(CLASSIFY), repeated(prefixed(b"")[:1] + (16 << 20).to_bytes(4, "big") + b"\x0a\x04none\x1a\xf0\xff\xff\x07", 0, (16 << 20) - 11)])
add("framing: trailers of the client", [head(CHECK), body(prefixed(b""), False), ["headers", [["x-trailer", "1"]], True]])
add("framing: padded DATA", [head(CHECK), ["padded", text(prefixed(b"")), 100, True]])

# Compression

add("gzip: a message", [head(CLASSIFY, grpc_encoding="gzip"), body(prefixed(gzip(classify()), 1))])
add("gzip: an uncompressed message beside the encoding", [head(CLASSIFY, grpc_encoding="gzip"), body(prefixed(classify(), 0))])
add("gzip: what is no gzip", [head(CLASSIFY, grpc_encoding="gzip"), body(prefixed(b"no gzip at all", 1))])
add("gzip: cut off", [head(CLASSIFY, grpc_encoding="gzip"), body(prefixed(gzip(classify())[:-9], 1))])
add("gzip: a bomb", [head(CLASSIFY, grpc_encoding="gzip"), ["bomb", 64 << 20, True]])
add("gzip: two members", [head(CLASSIFY, grpc_encoding="gzip"), body(prefixed(gzip(classify()) + gzip(b""), 1))])
add("gzip: an empty message", [head(CHECK, grpc_encoding="gzip"), body(prefixed(gzip(b""), 1))])
add("gzip: of ListModels", [head(LIST, grpc_encoding="gzip"), body(prefixed(gzip(b""), 1))])
add("gzip: of ModelInfer", [head(OIP + "ModelInfer", grpc_encoding="gzip"), body(prefixed(gzip(infer()), 1))])
add("gzip: of a stream", [head(CLASSIFY_STREAM, grpc_encoding="gzip"), body(prefixed(gzip(classify()), 1))])
for _encoding in ("identity", "snappy", "deflate", "GZIP", ""):
    add(f"grpc-encoding: {_encoding!r}", [head(CHECK, grpc_encoding=_encoding), body(prefixed(b""))])
add("grpc-encoding: unknown and compressed", [head(CLASSIFY, grpc_encoding="snappy"), body(prefixed(classify(), 1))])
call("grpc-accept-encoding: gzip", CLASSIFY, classify(), grpc_accept_encoding="gzip")
call("grpc-accept-encoding: identity, deflate, gzip of a large answer", GET_MODEL, make("vitrine.v1.GetModelRequest", model=MODEL), grpc_accept_encoding="identity, deflate, gzip")
call("grpc-accept-encoding: unknown", CHECK, b"", grpc_accept_encoding="snappy")

# The head

for _type in ("application/grpc+proto", "application/grpc+json", "application/grpc;charset=utf-8", "application/grpcx", "application/json", "text/plain", "", "APPLICATION/GRPC", "application/grpc-web"):
    call(f"content-type: {_type!r}", CHECK, b"", content_type=_type)
call("content-type: none", CHECK, b"", content_type=None)
call("te: none", CHECK, b"", te=None)
call("user-agent: none", CHECK, b"", user_agent=None)
for _method in ("GET", "PUT", "HEAD", "DELETE", "OPTIONS", "post"):
    add(f"method: {_method}", [head(CHECK, __method=_method), body(prefixed(b""))])
add("method: GET without a body", [head(CHECK, True, __method="GET", content_type=None, te=None)])
for _path in ("/", "//", "/grpc.health.v1.Health", "/grpc.health.v1.Health/", "/grpc.health.v1.Health/check", "/Check", "/grpc.health.v1.Health/Check/", "/grpc.health.v1.Health/Check?a=b",
              "/no.such.Service/Method", "/vitrine.v1.Classifier/NoSuch", "/vitrine.v1.Admin/LoadModel", "/grpc.health.v1.Health%2FCheck", "/\u00e4", OIP + "SystemSharedMemoryStatus"):
    call(f"path: {_path}", _path, b"")
call("path: of 3,000 bytes", fill("/", 3000), b"")
call("path: of 20,000 bytes", fill("/", 20000), b"", until="quiet")
call("scheme: https", CHECK, b"", __scheme="https")
call("authority: none", CHECK, b"", __authority=None)
call("authority: none, and a host", CHECK, b"", __authority=None, host="localhost")
for _timeout in ("1S", "10S", "1M", "1H", "100m", "1000000u", "99999999n", "0S", "0n", "1n", "1u", "99999999H", "999999999S", "S", "1", "-1S", "1.5S", "1s", " 1S", "1 S", ""):
    call(f"grpc-timeout: {_timeout!r}", CHECK, b"", grpc_timeout=_timeout)
for _timeout in ("0S", "1n", "5S", "99999999H", "x"):
    call(f"grpc-timeout of Classify: {_timeout!r}", CLASSIFY, classify(), grpc_timeout=_timeout)
add("grpc-timeout: passes before the message comes", [head(CLASSIFY, grpc_timeout="200m")])
add("grpc-timeout: passes while a stream is silent", [head(CLASSIFY_STREAM, grpc_timeout="200m")])
add("grpc-timeout: passes on Watch", [head(WATCH, grpc_timeout="300m"), body(prefixed(b""))])
add("grpc-timeout: passes on WatchModels", [head(WATCH_MODELS, grpc_timeout="300m"), body(prefixed(b""))])
for _name, _value in [("padded", "AAEC/w=="), ("not padded", "AAEC/w"), ("of two values", "AAE=,Aw"), ("no base64", "***"), ("empty", "")]:
    call(f"metadata: -bin {_name}", CHECK, b"", x_test_bin=_value)
add("metadata: the same name three times", [["headers", head(CHECK)[1] + [["x-a", "1"], ["x-a", "2"], ["x-a", ""]], False], body(prefixed(b""))])
call("metadata: a value that is no ASCII", CHECK, b"", x_test="\u00e4")
call("metadata: an x-request-id", CLASSIFY, classify(), x_request_id="id-7")
call("metadata: a traceparent", CLASSIFY, classify(), traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
call("metadata: near the limit", CHECK, b"", x_large=fill("y", 6000))
call("metadata: over the limit", CHECK, b"", x_large=fill("y", 9000), until="quiet")
call("metadata: over the limit, in small fields", CHECK, b"", until="quiet", **{f"x_{number}": fill("y", 100) for number in range(100)})
call("metadata: far over the limit", CHECK, b"", x_large=fill("y", 100000), until="quiet")
call("metadata: authorization where none is taken", CHECK, b"", authorization="Bearer x")

# Streams

call("stream: two pictures", CLASSIFY_STREAM, classify(request_id="a"), classify(request_id="b"))
call("stream: in-band errors", CLASSIFY_STREAM, classify(request_id="a", model="absent"), classify(request_id="b"), classify(request_id="c", image=text(b"none")), b"\x0f")
call("stream: no message", CLASSIFY_STREAM)
add("stream: END_STREAM of the head", [head(CLASSIFY_STREAM, True)])
add("stream: an answer before the half-close", [head(CLASSIFY_STREAM), body(prefixed(classify(request_id="a")), False), ["wait", 1], body(b"")])
add("stream: the half-close with the message", [head(CLASSIFY_STREAM), body(prefixed(classify()))])
add("stream: reset by the client", [head(CLASSIFY_STREAM), body(prefixed(classify()), False), ["wait", 1], ["reset", 8]], until="quiet")
add("stream: half a message at the end", [head(CLASSIFY_STREAM), body(prefixed(classify()), False), body(b"\0\0\0\0\x09abc")])
add("stream: a message over the limit", [head(CLASSIFY_STREAM), body(prefixed(classify()), False), ["wait", 1], repeated(b"\0" + (17 << 20).to_bytes(4, "big"), 0, 17 << 20)])
add("stream: two messages in one frame", [head(CLASSIFY_STREAM), body(prefixed(classify(request_id="a")) + prefixed(classify(request_id="b")))])
call("stream: infer", OIP + "ModelStreamInfer", infer(id="a"), infer(id="b", model_name="absent"), raw_infer(id="c"))
call("stream: infer, bad bytes", OIP + "ModelStreamInfer", b"\x0f")

# Registry and health

call("registry: ListModels", LIST, b"")
call("registry: ListModels over the unix socket", LIST, b"", port="socket")
call("registry: GetModel", GET_MODEL, make("vitrine.v1.GetModelRequest", model=MODEL, cost_of=[{"height": 28, "width": 28}]))
call("registry: GetModel, unknown", GET_MODEL, make("vitrine.v1.GetModelRequest", model="absent"))
call("registry: GetModel without a name", GET_MODEL, b"")
call("registry: GetModel, costs that cannot be", GET_MODEL, make("vitrine.v1.GetModelRequest", model=MODEL, cost_of=[{"height": 0, "width": 28}]))
call("registry: WatchModels", WATCH_MODELS, b"", until="quiet")
call("registry: WatchModels of an unknown model", WATCH_MODELS, make("vitrine.v1.WatchModelsRequest", model="absent"), until="quiet")
add("registry: WatchModels, reset", [head(WATCH_MODELS), body(prefixed(b"")), ["wait", 1], ["reset", 8]], until="quiet")
for _service in ("", "vitrine.v1.Classifier", "vitrine.v1.Registry", "inference.GRPCInferenceService", "grpc.health.v1.Health", "vitrine.v1.Admin", MODEL, "absent"):
    call(f"health: Check {_service!r}", CHECK, make("grpc.health.v1.HealthCheckRequest", service=_service))
    call(f"health: Watch {_service!r}", WATCH, make("grpc.health.v1.HealthCheckRequest", service=_service), until="quiet")
call("health: Check on the health listener", CHECK, b"", port="health")
call("health: Watch on the health listener", WATCH, b"", port="health", until="quiet")
call("health: Classify on the health listener", CLASSIFY, classify(), port="health")
call("health: Watch that stays half open", WATCH, b"", until="quiet", end=False)

# Reflection

for _name, _fields in [("list_services", {"list_services": ""}), ("a symbol", {"file_containing_symbol": "grpc.health.v1.Health"}), ("a symbol that is not there", {"file_containing_symbol": "no.Such"}),
                       ("a file", {"file_by_filename": "grpc/health/v1/health.proto"}), ("a file that is not there", {"file_by_filename": "absent.proto"}), ("nothing", {}),
                       ("extensions", {"all_extension_numbers_of_type": "google.protobuf.FieldOptions"})]:
    call(f"reflection: {_name}", REFLECTION, make("grpc.reflection.v1alpha.ServerReflectionRequest", host="h", **_fields))
call("reflection: two questions", REFLECTION, *[make("grpc.reflection.v1alpha.ServerReflectionRequest", file_containing_symbol="no.Such")] * 2)
call("reflection: v1", REFLECTION.replace("v1alpha", "v1"), make("grpc.reflection.v1.ServerReflectionRequest", list_services=""))

# Open Inference Protocol

for _method in ("ServerLive", "ServerReady", "ServerMetadata", "RepositoryIndex"):
    call(f"oip: {_method}", OIP + _method, b"")
for _method in ("ModelReady", "ModelMetadata", "ModelConfig", "ModelStatistics"):
    call(f"oip: {_method}", OIP + _method, make(f"inference.{_method}Request", name=MODEL))
    call(f"oip: {_method} of an unknown model", OIP + _method, make(f"inference.{_method}Request", name="absent"))
    call(f"oip: {_method} of a bad version", OIP + _method, make(f"inference.{_method}Request", name=MODEL, version="-3"))
call("oip: ModelReady without a name", OIP + "ModelReady", b"")
call("oip: ModelInfer", OIP + "ModelInfer", infer(id="7"))
call("oip: ModelInfer of raw contents", OIP + "ModelInfer", raw_infer())
call("oip: ModelInfer, best two", OIP + "ModelInfer", raw_infer(outputs=[{"name": "probabilities", "parameters": {"classification": {"int64_param": 2}}}]))
call("oip: ModelInfer, an unknown output", OIP + "ModelInfer", raw_infer(outputs=[{"name": "absent"}]))
call("oip: ModelInfer, two inputs", OIP + "ModelInfer", infer(inputs=[{"name": "image", "datatype": "BYTES", "shape": [1]}] * 2))
call("oip: ModelInfer, no input", OIP + "ModelInfer", infer(inputs=[]))
call("oip: ModelInfer, raw contents that are cut off", OIP + "ModelInfer", infer(inputs=[{"name": "image", "datatype": "BYTES", "shape": [1]}], raw_input_contents=[text(b"\xff\0\0\0abc")]))
call("oip: ModelInfer, three raw contents", OIP + "ModelInfer", infer(inputs=[{"name": "image", "datatype": "BYTES", "shape": [1]}], raw_input_contents=[text(b"abc")] * 3))
call("oip: ModelInfer of an unknown model", OIP + "ModelInfer", infer(model_name="absent"))
call("oip: ModelInfer, a parameter that is not known", OIP + "ModelInfer", infer(parameters={"sequence_id": {"int64_param": 1}}))
for _method in ("RepositoryModelLoad", "RepositoryModelUnload"):
    call(f"oip: {_method} on the callers' port", OIP + _method, make(f"inference.{_method}Request", model_name=MODEL))
    for _server in ("plain", "admin-tcp"):
        call(f"oip: {_method} of an unknown model on admin, {_server}", OIP + _method, make(f"inference.{_method}Request", model_name="absent"), server=_server, port="admin")

# Admin, over its unix socket and over TCP

for _server in ("plain", "admin-tcp"):
    def _admin(name, method, kind, server=_server, **fields):
        call(f"admin {server}: {name}", ADMIN + method, make(f"vitrine.v1.{kind}", **fields), server=server, port="admin")

    _admin("GetServing", "GetServing", "GetServingRequest")
    _admin("GetServing of one", "GetServing", "GetServingRequest", model=MODEL)
    _admin("GetServing of an unknown one", "GetServing", "GetServingRequest", model="absent")
    _admin("LoadModel", "LoadModel", "LoadModelRequest", model=MODEL)
    _admin("LoadModel, unknown", "LoadModel", "LoadModelRequest", model="absent")
    _admin("LoadModel without a name", "LoadModel", "LoadModelRequest")
    _admin("UnloadModel, a version that is not there", "UnloadModel", "UnloadModelRequest", model=MODEL, version="9")
    _admin("RollbackModel, nothing to go back to", "RollbackModel", "RollbackModelRequest", model=MODEL)
    _admin("SetVersionPolicy", "SetVersionPolicy", "SetVersionPolicyRequest", model=MODEL, policy={"all": True})
    _admin("SetVersionPolicy without one", "SetVersionPolicy", "SetVersionPolicyRequest", model=MODEL)
    _admin("SetTraffic of more than all", "SetTraffic", "SetTrafficRequest", model=MODEL, shares=[{"version": "1", "percent": 101}])
    _admin("SetLabel", "SetLabel", "SetLabelRequest", model=MODEL, label="best", version="1")
    _admin("SetLabel, a bad one", "SetLabel", "SetLabelRequest", model=MODEL, label="7", version="1")
    _admin("ClearLabel", "ClearLabel", "ClearLabelRequest", model=MODEL, label="best")
    _admin("ClearLabel, unknown", "ClearLabel", "ClearLabelRequest", model=MODEL, label="none")
    _admin("ResetServing", "ResetServing", "ResetServingRequest", model=MODEL)
    call(f"admin {_server}: Classify", CLASSIFY, classify(), server=_server, port="admin")
    call(f"admin {_server}: an unknown method", ADMIN + "NoSuch", b"", server=_server, port="admin")
    call(f"admin {_server}: bad bytes", ADMIN + "LoadModel", b"\x0a\x20abc", server=_server, port="admin")
    call(f"admin {_server}: Check", CHECK, b"", server=_server, port="admin")
    add(f"admin {_server}: zero messages", [head(ADMIN + "GetServing"), body(b"")], server=_server, port="admin")
    add(f"admin {_server}: two messages", [head(ADMIN + "GetServing"), body(prefixed(b"") * 2)], server=_server, port="admin")
    add(f"admin {_server}: gzip", [head(ADMIN + "GetServing", grpc_encoding="gzip"), body(prefixed(gzip(b""), 1))], server=_server, port="admin")

# Credentials: tokens of the file that the test writes, and its policy

for _name, _headers in [("no token", {}), ("a wrong token", {"authorization": "Bearer " + "w" * 43}), ("another scheme", {"authorization": "Basic abc"}), ("no token behind the scheme", {"authorization": "Bearer"}),
                        ("the reader's token", {"authorization": "Bearer READER"}), ("the classifier's token", {"authorization": "Bearer CLASSIFIER"}), ("a lower-case scheme", {"authorization": "bearer CLASSIFIER"})]:
    call(f"guarded: Classify with {_name}", CLASSIFY, classify(), server="guarded", **_headers)
    call(f"guarded: ListModels with {_name}", LIST, b"", server="guarded", **_headers)
    http(f"guarded http: models with {_name}", "/v1/models", server="guarded", **({"Authorization": _headers["authorization"]} if _headers else {}))
for _name, _path, _message in [("Check", CHECK, b""), ("reflection", REFLECTION, make("grpc.reflection.v1alpha.ServerReflectionRequest", list_services="")), ("an unknown method", "/no.such.Service/Method", b""),
                               ("a stream", CLASSIFY_STREAM, classify()), ("WatchModels", WATCH_MODELS, b""), ("ModelInfer", OIP + "ModelInfer", infer()), ("bad bytes", CLASSIFY, b"\x0f")]:
    call(f"guarded: {_name} without a token", _path, _message, server="guarded")
add("guarded: two authorizations", [["headers", head(LIST)[1] + [["authorization", "Bearer READER"], ["authorization", "Bearer CLASSIFIER"]], False], body(prefixed(b""))], server="guarded")
call("guarded: another model", CLASSIFY, classify(model="eit-mini-cifar10"), server="guarded", authorization="Bearer CLASSIFIER")
add("guarded: a refusal comes before the body", [head(CLASSIFY)], server="guarded", until="quiet")
add("guarded: a large body without a token", [head(CLASSIFY), repeated(b"\0" + (15 << 20).to_bytes(4, "big"), 0, 15 << 20)], server="guarded")

# HTTP/1.1

http("http: models", "/v1/models")
http("http: one model", f"/v1/models/{MODEL}")
http("http: a version", f"/v1/models/{MODEL}/versions/1")
http("http: an unknown model", "/v1/models/absent")
http("http: classify", f"/v1/models/{MODEL}:classify", "POST", DIGIT)
http("http: classify, parameters", f"/v1/models/{MODEL}:classify?top_k=1&priority=high&request_id=r1", "POST", DIGIT)
http("http: classify, a bad parameter", f"/v1/models/{MODEL}:classify?top=1", "POST", DIGIT)
http("http: classify, no picture", f"/v1/models/{MODEL}:classify", "POST", b"none")
http("http: classify, no body", f"/v1/models/{MODEL}:classify", "POST")
http("http: classify, json", f"/v1/models/{MODEL}:classify", "POST", b"{}", Content_Type="application/json")
http("http: classify, gzip", f"/v1/models/{MODEL}:classify", "POST", gzip(DIGIT), Content_Encoding="gzip")
http("http: classify, an unknown encoding", f"/v1/models/{MODEL}:classify", "POST", DIGIT, Content_Encoding="br")
http("http: classify, x-request-id", f"/v1/models/{MODEL}:classify", "POST", DIGIT, X_Request_Id="id-9")
http("http: classify, chunks", f"/v1/models/{MODEL}:classify", "POST", f"{len(DIGIT):x}\r\n".encode() + DIGIT + b"\r\n0\r\n\r\n", Content_Length=None, Transfer_Encoding="chunked")
http("http: classify, an unknown model", "/v1/models/absent:classify", "POST", DIGIT)
http("http: classify, a bad version", f"/v1/models/{MODEL}/versions/0:classify", "POST", DIGIT)
http("http: GET on classify", f"/v1/models/{MODEL}:classify")
http("http: PUT on classify", f"/v1/models/{MODEL}:classify", "PUT", DIGIT)
http("http: an unknown path", "/nothing")
http("http: root", "/")
http("http: HEAD", "/v1/models", "HEAD")
http("http: openapi", "/openapi.json", "HEAD")
for _path in ("/v2", "/v2/health/live", "/v2/health/ready", f"/v2/models/{MODEL}", f"/v2/models/{MODEL}/ready", f"/v2/models/{MODEL}/config", "/v2/models/absent", "/v2/models/absent/ready", "/v2/nothing"):
    http(f"http: {_path}", _path)
http("http: index", "/v2/repository/index", "POST", b"{}")
http("http: infer", f"/v2/models/{MODEL}/infer", "POST", ('{"inputs": [{"name": "image", "datatype": "BYTES", "shape": [1], "data": ["' + text(DIGIT) + '"], "parameters": {"content_type": "base64"}}]}').encode())
http("http: infer, no json", f"/v2/models/{MODEL}/infer", "POST", b"{")
http("http: infer, an unknown model", "/v2/models/absent/infer", "POST", b"{}")
http("http: a gRPC path", CHECK, "POST", prefixed(b""), Content_Type="application/grpc")
http("http: no host", "/v1/models", Host=None)
http("http: two hosts", "/v1/models", head_of=b"GET /v1/models HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n")
http("http: a folded header", "/v1/models", head_of=b"GET /v1/models HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\nConnection: close\r\n\r\n")
http("http: HTTP/1.0", "/v1/models", version="HTTP/1.0")
http("http: what is no request", "/", head_of=b"NONSENSE\r\n\r\n")
http("http: two lengths", "/", head_of=b"POST /v1/models HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab")
http("http: length and chunks", "/", head_of=b"POST /v1/models HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
http("http: a body over the limit", f"/v1/models/{MODEL}:classify", "POST", Content_Length=str(1 << 30))
http("http: a head over the limit", "/v1/models", X_Large="@17000 letters@")
http("http: an encoded slash", "/v1/models/a%2Fb")
http("http: a bad escape", "/v1/models/%zz")
for _path in ("/healthz", "/readyz", "/nothing", "/"):
    http(f"metrics: {_path}", _path, port="metrics")
http("metrics: POST", "/metrics", "POST", b"x", port="metrics")
http("metrics: HEAD", "/metrics", "HEAD", port="metrics")
