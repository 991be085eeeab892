// SPDX-License-Identifier: Apache-2.0
// Floods of an HTTP/2 server on this machine: what a hostile client sends, as fast as one core sends it.
#ifndef VITRINE_TESTS_FLOODS_FLOOD_H_
#define VITRINE_TESTS_FLOODS_FLOOD_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { kMostStreams = 1024 };

// Types of HTTP/2 frames and their flags.
enum { kData, kHeaders, kPriority, kRstStream, kSettings, kPushPromise, kPing, kGoaway, kWindowUpdate, kContinuation };
enum { kEndStream = 1, kAck = 1, kEndHeaders = 4, kPadded = 8 };

// A stream under way; free where id is 0.
typedef struct Stream {
  uint32_t id;
  double since;
  bool has_headers;  // response headers have come, which did not end the stream
  bool has_data;     // bytes of the response have come
} Stream;

typedef struct Connection {
  int fd;       // -1: there is none
  int number;   // from 0
  int variant;  // number plus the times that it came back: floods of several forms take them in turn
  bool connected, readable, writable, reads, has_goaway, had_bytes;
  double opened_at, goaway_at, next_at;  // seconds of Now(); next_at: nothing is written or opened before
  uint32_t next_stream;
  int64_t send_window;  // of the connection
  uint32_t most_streams;
  double tokens;  // calls that may be begun, for floods of a fixed rate
  Stream streams[kMostStreams];
  uint8_t* out;
  size_t begin, end;  // what is to be sent of `out`
  uint8_t in[64];     // head and first bytes of the frame that is being received
  size_t in_size, in_skip;
  void* tls;
} Connection;

typedef struct Flood {
  const char* name;
  const char* what;
  int sockets;                // that each of --connections stands for
  double interval;            // seconds between two fills; 0: at once
  bool is_raw;                // neither preface nor frames
  bool is_silent;             // no frame of the server is answered
  void (*open)(Connection*);  // after the connection was made; may be null
  void (*fill)(Connection*);  // appends frames to an empty `out`; may append nothing
  void (*received)(Connection*, uint8_t type, uint8_t flags, uint32_t stream, size_t length);  // may be null
  void (*bytes)(Connection*, const uint8_t*, size_t);                                          // of is_raw
} Flood;

typedef struct Options {
  int connections;
  double seconds;
  int in_flight;     // calls at once on a connection
  double rate;       // calls a second over all connections
  double deadline;   // seconds until a call is given up
  const char* path;  // of the calls
  uint8_t* message;  // of the calls, framed for gRPC; null: five bytes for an empty one
  size_t message_size;
  bool refill;  // a call that ended is followed by another one
} Options;

typedef struct Counts {
  int64_t bytes, frames, connections, cut_off, refused, goaways, resets;  // resets: by the server
  int64_t begun, answered, ended, given_up;                               // calls; ended: without a byte of an answer
  int64_t waiting;                                                        // answers that have begun and are not whole
} Counts;

extern Options options;
extern Counts counts;

double Now(void);

// floods.c: the floods of frames. calls.c: those whose calls are kept account of. handshakes.c: those below HTTP/2.
extern const Flood kFrameFloods[];
extern const Flood kCallFloods[];
extern const Flood kRawFloods[];

// frames.c: appends to connection->out. Room is enough for what a fill writes while RoomFor says so.
bool RoomFor(const Connection* connection, size_t bytes);
void Put(Connection* connection, const void* bytes, size_t size);
void PutFrame(Connection* connection, uint8_t type, uint8_t flags, uint32_t stream, const void* body, size_t size);
void PutNumber(Connection* connection, uint8_t type, uint32_t stream, uint32_t number);  // RST_STREAM, WINDOW_UPDATE
void PutPreface(Connection* connection);
// A header field, never indexed or put into the dynamic table; returns its size. Values up to 16,000 bytes.
size_t PutField(uint8_t* out, bool is_indexed, const char* name, const char* value);
// Headers of a call to `path`: those that fill the dynamic table, and then those that refer to it.
size_t FirstHeaders(uint8_t* out, const char* path, const char* timeout);
size_t NextHeaders(uint8_t* out, bool has_timeout);
uint32_t TakeStream(Connection* connection);

// loop.c: sends and receives on every connection until the time is over.
void RunFlood(const Flood* flood, bool shows_progress);
// Closes the connection with a reset, by the flood's own will; it is opened again.
void Leave(Connection* connection);

#endif  // VITRINE_TESTS_FLOODS_FLOOD_H_
