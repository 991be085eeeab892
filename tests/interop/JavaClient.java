// SPDX-License-Identifier: Apache-2.0
// Runs the interoperability cases with grpc-java over Netty. Usage: JavaClient HOST:PORT [CASE...].

import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import grpc.testing.EmptyOuterClass.Empty;
import grpc.testing.Messages.BoolValue;
import grpc.testing.Messages.EchoStatus;
import grpc.testing.Messages.Payload;
import grpc.testing.Messages.ResponseParameters;
import grpc.testing.Messages.SimpleRequest;
import grpc.testing.Messages.SimpleResponse;
import grpc.testing.Messages.StreamingInputCallRequest;
import grpc.testing.Messages.StreamingInputCallResponse;
import grpc.testing.Messages.StreamingOutputCallRequest;
import grpc.testing.Messages.StreamingOutputCallResponse;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

public final class JavaClient {
  interface Case {
    void run() throws Exception;
  }

  static final int[] SENT = {27182, 8, 1828, 45904};
  static final int[] ASKED = {31415, 9, 2653, 58979};
  static final String SERVICE = "grpc.testing.TestService/";
  static final Metadata.Key<String> INITIAL = Metadata.Key.of("x-grpc-test-echo-initial", Metadata.ASCII_STRING_MARSHALLER);
  static final Metadata.Key<byte[]> TRAILING =
      Metadata.Key.of("x-grpc-test-echo-trailing-bin", Metadata.BINARY_BYTE_MARSHALLER);

  static <Q extends Message, A extends Message> MethodDescriptor<Q, A> method(MethodType type, String name, Q request, A answer) {
    return MethodDescriptor.<Q, A>newBuilder(ProtoUtils.marshaller(request), ProtoUtils.marshaller(answer))
        .setType(type).setFullMethodName(name).build();
  }

  static final MethodDescriptor<Empty, Empty> EMPTY =
      method(MethodType.UNARY, SERVICE + "EmptyCall", Empty.getDefaultInstance(), Empty.getDefaultInstance());
  static final MethodDescriptor<SimpleRequest, SimpleResponse> UNARY = method(
      MethodType.UNARY, SERVICE + "UnaryCall", SimpleRequest.getDefaultInstance(), SimpleResponse.getDefaultInstance());
  static final MethodDescriptor<StreamingInputCallRequest, StreamingInputCallResponse> INPUT =
      method(MethodType.CLIENT_STREAMING, SERVICE + "StreamingInputCall", StreamingInputCallRequest.getDefaultInstance(),
          StreamingInputCallResponse.getDefaultInstance());
  static final MethodDescriptor<StreamingOutputCallRequest, StreamingOutputCallResponse> OUTPUT =
      method(MethodType.SERVER_STREAMING, SERVICE + "StreamingOutputCall", StreamingOutputCallRequest.getDefaultInstance(),
          StreamingOutputCallResponse.getDefaultInstance());
  static final MethodDescriptor<StreamingOutputCallRequest, StreamingOutputCallResponse> DUPLEX =
      method(MethodType.BIDI_STREAMING, SERVICE + "FullDuplexCall", StreamingOutputCallRequest.getDefaultInstance(),
          StreamingOutputCallResponse.getDefaultInstance());

  static ManagedChannel channel;

  static void check(boolean held, Object what) {
    if (!held) throw new IllegalStateException(String.valueOf(what));
  }

  static CallOptions soon() {
    return CallOptions.DEFAULT.withDeadlineAfter(20, TimeUnit.SECONDS);
  }

  static Payload zeros(int size) {
    return Payload.newBuilder().setBody(ByteString.copyFrom(new byte[size])).build();
  }

  // Returns bytes that compress to more than a 64th of their size. The server rejects a higher compression ratio.
  static Payload mixed(int size) {
    final byte[] body = new byte[size];
    for (int i = 0; i + 1 < size; i += 4) {
      body[i] = (byte) (i / 4);
      body[i + 1] = (byte) (i / 1024);
    }
    return Payload.newBuilder().setBody(ByteString.copyFrom(body)).build();
  }

  static SimpleRequest.Builder large() {
    return SimpleRequest.newBuilder().setResponseSize(314159).setPayload(zeros(271828));
  }

  static BoolValue is(boolean value) {
    return BoolValue.newBuilder().setValue(value).build();
  }

  static void unary(SimpleRequest request, CallOptions options) {
    final SimpleResponse answer = ClientCalls.blockingUnaryCall(channel, UNARY, options, request);
    check(answer.getPayload().getBody().equals(zeros(314159).getBody()), "another payload");
  }

  static StreamingOutputCallRequest output(int payload, int... sizes) {
    final StreamingOutputCallRequest.Builder made = StreamingOutputCallRequest.newBuilder().setPayload(zeros(payload));
    for (int size : sizes) made.addResponseParameters(ResponseParameters.newBuilder().setSize(size));
    return made.build();
  }

  static void takes(Iterator<StreamingOutputCallResponse> from, int... sizes) {
    for (int size : sizes) check(from.next().getPayload().getBody().size() == size, "another payload");
    check(!from.hasNext(), "more than was asked for");
  }

  /** Results of a streaming call. */
  static final class Taken<T> implements StreamObserver<T> {
    final BlockingQueue<Object> come = new LinkedBlockingQueue<>();

    @Override public void onNext(T value) {
      come.add(value);
    }
    @Override public void onError(Throwable why) {
      come.add(Status.fromThrowable(why));
    }
    @Override public void onCompleted() {
      come.add(Status.OK);
    }
    Object next() throws InterruptedException {
      final Object next = come.poll(20, TimeUnit.SECONDS);
      check(next != null, "nothing comes");
      return next;
    }
    Status end() throws InterruptedException {
      final Object next = next();
      check(next instanceof Status, "more than was asked for");
      return (Status) next;
    }
    void payload(int size) throws InterruptedException {
      final Object next = next();
      check(next instanceof StreamingOutputCallResponse
              && ((StreamingOutputCallResponse) next).getPayload().getBody().size() == size, next instanceof Status ? next : "another payload");
    }
  }

  static StreamObserver<StreamingOutputCallRequest> duplex(Channel on, CallOptions options, Taken<StreamingOutputCallResponse> to) {
    return ClientCalls.asyncBidiStreamingCall(on.newCall(DUPLEX, options), to);
  }

  static Status failure(Runnable call) {
    try {
      call.run();
    } catch (RuntimeException fault) {
      return Status.fromThrowable(fault);
    }
    return Status.OK;
  }

  static void is(Status status, Status.Code code) {
    check(status.getCode() == code, status);
  }

  static void ends(String sentence) throws Exception {
    final EchoStatus wanted = EchoStatus.newBuilder().setCode(2).setMessage(sentence).build();
    final Taken<StreamingOutputCallResponse> taken = new Taken<>();
    final StreamObserver<StreamingOutputCallRequest> stream = duplex(channel, soon(), taken);
    stream.onNext(StreamingOutputCallRequest.newBuilder().setResponseStatus(wanted).build());
    stream.onCompleted();
    for (Status told : Arrays.asList(failure(() -> unary(SimpleRequest.newBuilder().setResponseStatus(wanted).build(), soon())), taken.end())) {
      check(told.getCode() == Status.Code.UNKNOWN && sentence.equals(told.getDescription()), told);
    }
  }

  static void unimplemented(String name) {
    is(failure(() -> ClientCalls.blockingUnaryCall(channel, method(MethodType.UNARY, name, Empty.getDefaultInstance(), Empty.getDefaultInstance()),
        soon(), Empty.getDefaultInstance())), Status.Code.UNIMPLEMENTED);
  }

  static Map<String, Case> cases() {
    final Map<String, Case> all = new LinkedHashMap<>();
    all.put("empty_unary", () -> ClientCalls.blockingUnaryCall(channel, EMPTY, soon(), Empty.getDefaultInstance()));
    all.put("large_unary", () -> unary(large().build(), soon()));
    all.put("client_compressed_unary", () -> {
      final SimpleRequest.Builder request = large().setPayload(mixed(271828));
      is(failure(() -> unary(request.setExpectCompressed(is(true)).build(), soon())), Status.Code.INVALID_ARGUMENT);
      unary(request.build(), soon().withCompression("gzip"));
      unary(request.setExpectCompressed(is(false)).build(), soon());
    });
    all.put("server_compressed_unary", () -> {
      for (boolean value : new boolean[] {true, false}) unary(large().setResponseCompressed(is(value)).build(), soon());
    });
    all.put("client_streaming", () -> {
      final Taken<StreamingInputCallResponse> taken = new Taken<>();
      final StreamObserver<StreamingInputCallRequest> stream = ClientCalls.asyncClientStreamingCall(channel.newCall(INPUT, soon()), taken);
      for (int size : SENT) stream.onNext(StreamingInputCallRequest.newBuilder().setPayload(zeros(size)).build());
      stream.onCompleted();
      final Object answer = taken.next();
      check(answer instanceof StreamingInputCallResponse && ((StreamingInputCallResponse) answer).getAggregatedPayloadSize() == 74922, answer);
    });
    all.put("client_compressed_streaming", () -> {
      for (boolean passes : new boolean[] {false, true}) {
        final Taken<StreamingInputCallResponse> taken = new Taken<>();
        final ClientCallStreamObserver<StreamingInputCallRequest> stream = (ClientCallStreamObserver<StreamingInputCallRequest>)
            ClientCalls.asyncClientStreamingCall(channel.newCall(INPUT, passes ? soon().withCompression("gzip") : soon()), taken);
        stream.setMessageCompression(passes);
        stream.onNext(StreamingInputCallRequest.newBuilder().setExpectCompressed(is(true)).setPayload(mixed(27182)).build());
        if (passes) {
          stream.setMessageCompression(false);
          stream.onNext(StreamingInputCallRequest.newBuilder().setExpectCompressed(is(false)).setPayload(zeros(45904)).build());
        }
        stream.onCompleted();
        final Object answer = taken.next();
        if (!passes) is((Status) answer, Status.Code.INVALID_ARGUMENT);
        else check(answer instanceof StreamingInputCallResponse && ((StreamingInputCallResponse) answer).getAggregatedPayloadSize() == 73086, answer);
      }
    });
    all.put("server_streaming", () -> takes(ClientCalls.blockingServerStreamingCall(channel, OUTPUT, soon(), output(0, ASKED)), ASKED));
    all.put("server_compressed_streaming", () -> {
      final StreamingOutputCallRequest request = StreamingOutputCallRequest.newBuilder()
          .addResponseParameters(ResponseParameters.newBuilder().setSize(31415).setCompressed(is(true)))
          .addResponseParameters(ResponseParameters.newBuilder().setSize(92653).setCompressed(is(false))).build();
      takes(ClientCalls.blockingServerStreamingCall(channel, OUTPUT, soon(), request), 31415, 92653);
    });
    all.put("ping_pong", () -> {
      final Taken<StreamingOutputCallResponse> taken = new Taken<>();
      final StreamObserver<StreamingOutputCallRequest> stream = duplex(channel, soon(), taken);
      for (int i = 0; i < ASKED.length; ++i) {
        stream.onNext(output(SENT[i], ASKED[i]));
        taken.payload(ASKED[i]);
      }
      stream.onCompleted();
      is(taken.end(), Status.Code.OK);
    });
    all.put("empty_stream", () -> {
      final Taken<StreamingOutputCallResponse> taken = new Taken<>();
      duplex(channel, soon(), taken).onCompleted();
      is(taken.end(), Status.Code.OK);
    });
    all.put("custom_metadata", () -> {
      final byte[] binary = {0x0a, 0x0b, 0x0a, 0x0b, 0x0a, 0x0b};
      final Metadata sent = new Metadata();
      sent.put(INITIAL, "test_initial_metadata_value");
      sent.put(TRAILING, binary);
      for (boolean streams : new boolean[] {false, true}) {
        final AtomicReference<Metadata> first = new AtomicReference<>();
        final AtomicReference<Metadata> last = new AtomicReference<>();
        final Channel on = ClientInterceptors.intercept(
            channel, MetadataUtils.newAttachHeadersInterceptor(sent), MetadataUtils.newCaptureMetadataInterceptor(first, last));
        if (streams) {
          final Taken<StreamingOutputCallResponse> taken = new Taken<>();
          final StreamObserver<StreamingOutputCallRequest> stream = duplex(on, soon(), taken);
          stream.onNext(output(271828, 314159));
          stream.onCompleted();
          taken.payload(314159);
          is(taken.end(), Status.Code.OK);
        } else {
          ClientCalls.blockingUnaryCall(on, UNARY, soon(), large().build());
        }
        check("test_initial_metadata_value".equals(first.get().get(INITIAL)), "initial metadata");
        check(Arrays.equals(binary, last.get().get(TRAILING)), "trailing metadata");
      }
    });
    all.put("status_code_and_message", () -> ends("test status message"));
    all.put("special_status_message", () -> ends("\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \ud83d\ude08\t\n"));
    all.put("unimplemented_method", () -> unimplemented(SERVICE + "UnimplementedCall"));
    all.put("unimplemented_service", () -> unimplemented("grpc.testing.UnimplementedService/UnimplementedCall"));
    all.put("cancel_after_begin", () -> {
      final Taken<StreamingInputCallResponse> taken = new Taken<>();
      ClientCalls.asyncClientStreamingCall(channel.newCall(INPUT, soon()), taken).onError(new RuntimeException());
      is(taken.end(), Status.Code.CANCELLED);
    });
    all.put("cancel_after_first_response", () -> {
      final Taken<StreamingOutputCallResponse> taken = new Taken<>();
      final StreamObserver<StreamingOutputCallRequest> stream = duplex(channel, soon(), taken);
      stream.onNext(output(27182, 31415));
      taken.payload(31415);
      stream.onError(new RuntimeException());
      is(taken.end(), Status.Code.CANCELLED);
    });
    all.put("timeout_on_sleeping_server", () -> {
      final Taken<StreamingOutputCallResponse> taken = new Taken<>();
      final StreamObserver<StreamingOutputCallRequest> stream =
          duplex(channel, CallOptions.DEFAULT.withDeadlineAfter(1, TimeUnit.MILLISECONDS), taken);
      try {
        stream.onNext(StreamingOutputCallRequest.newBuilder().setPayload(zeros(27182))
            .addResponseParameters(ResponseParameters.newBuilder().setSize(31415).setIntervalUs(500000)).build());
      } catch (IllegalStateException late) {
        // The call has already ended.
      }
      is(taken.end(), Status.Code.DEADLINE_EXCEEDED);
    });
    all.put("concurrent_large_unary", () -> {
      final List<com.google.common.util.concurrent.ListenableFuture<SimpleResponse>> calls = new ArrayList<>();
      for (int i = 0; i < 100; ++i) calls.add(ClientCalls.futureUnaryCall(channel.newCall(UNARY, soon()), large().build()));
      for (var each : calls) check(each.get().getPayload().getBody().size() == 314159, "another payload");
    });
    return all;
  }

  public static void main(String[] arguments) {
    channel = NettyChannelBuilder.forTarget("dns:///" + arguments[0]).usePlaintext().build();
    final List<String> only = Arrays.asList(arguments).subList(1, arguments.length);
    int failed = 0;
    for (Map.Entry<String, Case> each : cases().entrySet()) {
      if (!only.isEmpty() && !only.contains(each.getKey())) continue;
      try {
        each.getValue().run();
        System.out.println(each.getKey() + " ok");
      } catch (Throwable fault) {
        ++failed;
        System.out.println(each.getKey() + " failed " + String.valueOf(fault).replace('\n', ' '));
      }
    }
    channel.shutdownNow();
    System.exit(failed == 0 ? 0 : 1);
  }
}
