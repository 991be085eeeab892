// SPDX-License-Identifier: Apache-2.0

// Runs the interoperability cases with gRPC's Go client. Usage: go_client HOST:PORT [CASE...].
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "interop/testing"
)

const (
	service  = "/grpc.testing.TestService/"
	initial  = "x-grpc-test-echo-initial"
	trailing = "x-grpc-test-echo-trailing-bin"
)

var (
	sent    = []int{27182, 8, 1828, 45904}
	asked   = []int32{31415, 9, 2653, 58979}
	channel *grpc.ClientConn
	binary  = "\x0a\x0b\x0a\x0b\x0a\x0b"
)

type none string

func check(held bool, what interface{}) {
	if !held {
		panic(fmt.Sprint(what))
	}
}

func ok(err error) { check(err == nil, err) }

func within(time_ time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time_)
}

func soon() context.Context {
	ctx, _ := within(20 * time.Second)
	return ctx
}

func zeros(size int) *pb.Payload { return &pb.Payload{Body: make([]byte, size)} }

// Returns bytes that compress to more than a 64th of their size. The server rejects a higher compression ratio.
func mixed(size int) *pb.Payload {
	body := make([]byte, size)
	for i := 0; i < size; i += 4 {
		body[i], body[i+1] = byte(i/4), byte(i/1024)
	}
	return &pb.Payload{Body: body}
}

func unary(ctx context.Context, request *pb.SimpleRequest, options ...grpc.CallOption) (*pb.SimpleResponse, error) {
	answer := new(pb.SimpleResponse)
	err := channel.Invoke(ctx, service+"UnaryCall", request, answer, options...)
	return answer, err
}

func large() *pb.SimpleRequest {
	return &pb.SimpleRequest{ResponseSize: 314159, Payload: zeros(271828)}
}

func largeUnary() {
	answer, err := unary(soon(), large())
	ok(err)
	check(bytes.Equal(answer.Payload.Body, make([]byte, 314159)), "another payload")
}

func stream(ctx context.Context, name string) grpc.ClientStream {
	made, err := channel.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: name != "StreamingInputCall"}, service+name)
	ok(err)
	return made
}

func output(payload int, sizes ...int32) *pb.StreamingOutputCallRequest {
	request := &pb.StreamingOutputCallRequest{Payload: zeros(payload)}
	for _, size := range sizes {
		request.ResponseParameters = append(request.ResponseParameters, &pb.ResponseParameters{Size: size})
	}
	return request
}

func takes(from grpc.ClientStream, size int32) {
	answer := new(pb.StreamingOutputCallResponse)
	ok(from.RecvMsg(answer))
	check(int32(len(answer.Payload.Body)) == size, "another payload")
}

func ends(from grpc.ClientStream) {
	err := from.RecvMsg(new(pb.StreamingOutputCallResponse))
	check(err == io.EOF, err)
}

func statusOf(sentence string) {
	wanted := &pb.EchoStatus{Code: 2, Message: sentence}
	look := func(err error) {
		told := status.Convert(err)
		check(told.Code() == codes.Unknown && told.Message() == sentence, fmt.Sprintf("%v %q", told.Code(), told.Message()))
	}
	_, err := unary(soon(), &pb.SimpleRequest{ResponseStatus: wanted})
	look(err)
	duplex := stream(soon(), "FullDuplexCall")
	ok(duplex.SendMsg(&pb.StreamingOutputCallRequest{ResponseStatus: wanted}))
	ok(duplex.CloseSend())
	look(duplex.RecvMsg(new(pb.StreamingOutputCallResponse)))
}

func unimplemented(method string) {
	err := channel.Invoke(soon(), method, new(pb.Empty), new(pb.Empty))
	check(status.Code(err) == codes.Unimplemented, err)
}

var cases = []struct {
	name string
	run  func()
}{
	{"empty_unary", func() { ok(channel.Invoke(soon(), service+"EmptyCall", new(pb.Empty), new(pb.Empty))) }},
	{"large_unary", largeUnary},
	{"client_compressed_unary", func() {
		request := large()
		request.Payload = mixed(271828)
		request.ExpectCompressed = &pb.BoolValue{Value: true}
		_, err := unary(soon(), request)
		check(status.Code(err) == codes.InvalidArgument, err)
		_, err = unary(soon(), request, grpc.UseCompressor(gzip.Name))
		ok(err)
		request.ExpectCompressed.Value = false
		_, err = unary(soon(), request)
		ok(err)
	}},
	{"server_compressed_unary", func() {
		for _, value := range []bool{true, false} {
			request := large()
			request.ResponseCompressed = &pb.BoolValue{Value: value}
			answer, err := unary(soon(), request)
			ok(err)
			check(len(answer.Payload.Body) == 314159, "another payload")
		}
	}},
	{"client_streaming", func() {
		input := stream(soon(), "StreamingInputCall")
		for _, size := range sent {
			ok(input.SendMsg(&pb.StreamingInputCallRequest{Payload: zeros(size)}))
		}
		ok(input.CloseSend())
		answer := new(pb.StreamingInputCallResponse)
		ok(input.RecvMsg(answer))
		check(answer.AggregatedPayloadSize == 74922, answer)
	}},
	{"client_compressed_streaming", func() { panic(none("compression is a matter of a call, not of a message")) }},
	{"server_streaming", func() {
		made := stream(soon(), "StreamingOutputCall")
		ok(made.SendMsg(output(0, asked...)))
		ok(made.CloseSend())
		for _, size := range asked {
			takes(made, size)
		}
		ends(made)
	}},
	{"server_compressed_streaming", func() {
		made := stream(soon(), "StreamingOutputCall")
		request := output(0, 31415, 92653)
		request.ResponseParameters[0].Compressed = &pb.BoolValue{Value: true}
		request.ResponseParameters[1].Compressed = &pb.BoolValue{Value: false}
		ok(made.SendMsg(request))
		ok(made.CloseSend())
		takes(made, 31415)
		takes(made, 92653)
		ends(made)
	}},
	{"ping_pong", func() {
		duplex := stream(soon(), "FullDuplexCall")
		for i, size := range asked {
			ok(duplex.SendMsg(output(sent[i], size)))
			takes(duplex, size)
		}
		ok(duplex.CloseSend())
		ends(duplex)
	}},
	{"empty_stream", func() {
		duplex := stream(soon(), "FullDuplexCall")
		ok(duplex.CloseSend())
		ends(duplex)
	}},
	{"custom_metadata", func() {
		look := func(first, last metadata.MD) {
			check(strings.Join(first[initial], "|") == "test_initial_metadata_value", first)
			check(strings.Join(last[trailing], "|") == binary, last)
		}
		ctx := metadata.AppendToOutgoingContext(soon(), initial, "test_initial_metadata_value", trailing, binary)
		var first, last metadata.MD
		_, err := unary(ctx, large(), grpc.Header(&first), grpc.Trailer(&last))
		ok(err)
		look(first, last)
		duplex := stream(ctx, "FullDuplexCall")
		ok(duplex.SendMsg(output(271828, 314159)))
		first, err = duplex.Header()
		ok(err)
		ok(duplex.CloseSend())
		takes(duplex, 314159)
		ends(duplex)
		look(first, duplex.Trailer())
	}},
	{"status_code_and_message", func() { statusOf("test status message") }},
	{"special_status_message", func() { statusOf("\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001f608\t\n") }},
	{"unimplemented_method", func() { unimplemented(service + "UnimplementedCall") }},
	{"unimplemented_service", func() { unimplemented("/grpc.testing.UnimplementedService/UnimplementedCall") }},
	{"cancel_after_begin", func() {
		ctx, cancel := context.WithCancel(context.Background())
		input := stream(ctx, "StreamingInputCall")
		cancel()
		err := input.RecvMsg(new(pb.StreamingInputCallResponse))
		check(status.Code(err) == codes.Canceled, err)
	}},
	{"cancel_after_first_response", func() {
		ctx, cancel := context.WithCancel(context.Background())
		duplex := stream(ctx, "FullDuplexCall")
		ok(duplex.SendMsg(output(27182, 31415)))
		takes(duplex, 31415)
		cancel()
		err := duplex.RecvMsg(new(pb.StreamingOutputCallResponse))
		check(status.Code(err) == codes.Canceled, err)
	}},
	{"timeout_on_sleeping_server", func() {
		ctx, cancel := within(time.Millisecond)
		defer cancel()
		made, err := channel.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, service+"FullDuplexCall")
		if err == nil {
			request := output(27182, 31415)
			request.ResponseParameters[0].IntervalUs = 500000
			made.SendMsg(request)
			err = made.RecvMsg(new(pb.StreamingOutputCallResponse))
		}
		check(status.Code(err) == codes.DeadlineExceeded, err)
	}},
	{"concurrent_large_unary", func() {
		faults := make(chan interface{})
		for i := 0; i < 100; i++ {
			go func() {
				defer func() { faults <- recover() }()
				largeUnary()
			}()
		}
		for i := 0; i < 100; i++ {
			fault := <-faults
			check(fault == nil, fault)
		}
	}},
}

func run(name string, test func()) (failed bool) {
	defer func() {
		switch fault := recover().(type) {
		case nil:
			fmt.Println(name, "ok")
		case none:
			fmt.Println(name, "none", string(fault))
		default:
			fmt.Println(name, "failed", fault)
			failed = true
		}
	}()
	test()
	return
}

func main() {
	var err error
	channel, err = grpc.Dial(os.Args[1], grpc.WithInsecure())
	ok(err)
	failed := false
	for _, each := range cases {
		wanted := len(os.Args) == 2
		for _, name := range os.Args[2:] {
			wanted = wanted || name == each.name
		}
		if wanted && run(each.name, each.run) {
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}
