// SPDX-License-Identifier: Apache-2.0
// Floods of an HTTP/2 server on this machine: a hostile client that sends as fast as one core can.
#ifndef VITRINE_TESTS_FLOODS_FLOOD_H_
#define VITRINE_TESTS_FLOODS_FLOOD_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { kMostStreams = 1024 };

// Types of HTTP/2 frames and their flags.
enum { kData, kHeaders, kPriority, kRstStream, kSettings, kPushPromise, kPing, kGoaway, kWindowUpdate, kContinuation };
enum { kEndStream = 1, kAck = 1, kEndHeaders = 4, kPadded = 8 };

// A stream in progress; unused if `id` is 0.
typedef struct Stream {
  uint32_t id;
  double since;
  bool has_headers;  // response headers have come, which did not end the stream
  bool has_data;     // bytes of the response have come
} Stream;

typedef struct Connection {
  int fd;       // -1: not connected
  int number;   // from 0
  int variant;  // number plus reconnects: selects the variant of floods that have several
  bool connected, readable, writable, reads, has_goaway, had_bytes;
  double opened_at, goaway_at, next_at;  // seconds of Now(); next_at: earliest time of the next write or open
  uint32_t next_stream;
  int64_t send_window;  // the connection's
  uint32_t most_streams;
  double tokens;  // calls that may begin now, for floods of a fixed rate
  Stream streams[kMostStreams];
  uint8_t* out;
  size_t begin, end;  // range of `out` that is still to be sent
  uint8_t in[64];     // header and first bytes of the frame that is being received
  size_t in_size, in_skip;
  void* tls;
} Connection;

typedef struct Flood {
  const char* name;
  const char* what;
  int sockets;                // sockets per connection of --connections
  double interval;            // seconds between two fills; 0: at once
  bool is_raw;                // sends bytes without preface or frames
  bool is_silent;             // answers no frame of the server
  void (*open)(Connection*);  // called once connected; may be null
  void (*fill)(Connection*);  // appends frames to an empty `out`; may append nothing
  void (*received)(Connection*, uint8_t type, uint8_t flags, uint32_t stream, size_t length);  // may be null
  void (*bytes)(Connection*, const uint8_t*, size_t);                                          // if is_raw
} Flood;

typedef struct Options {
  int connections;
  double seconds;
  int in_flight;     // concurrent calls per connection
  double rate;       // calls per second over all connections
  double deadline;   // seconds until a call is given up
  const char* path;  // the calls' :path
  uint8_t* message;  // the calls' message in gRPC framing; null: an empty message
  size_t message_size;
  bool refill;  // starts another call when one ends
} Options;

typedef struct Counts {
  int64_t bytes, frames, connections, cut_off, refused, goaways, resets;  // resets: by the server
  int64_t begun, answered, ended, given_up;                               // calls; ended: without any response data
  int64_t waiting;                                                        // responses that are incomplete
} Counts;

extern Options options;
extern Counts counts;

double Now(void);

// floods.c: floods of frames. calls.c: floods of calls, which are counted. handshakes.c: floods below HTTP/2.
extern const Flood kFrameFloods[];
extern const Flood kCallFloods[];
extern const Flood kRawFloods[];

// frames.c: appends to connection->out. A fill must check RoomFor before it writes.
bool RoomFor(const Connection* connection, size_t bytes);
void Put(Connection* connection, const void* bytes, size_t size);
void PutFrame(Connection* connection, uint8_t type, uint8_t flags, uint32_t stream, const void* body, size_t size);
void PutNumber(Connection* connection, uint8_t type, uint32_t stream, uint32_t number);  // RST_STREAM, WINDOW_UPDATE
void PutPreface(Connection* connection);
// Writes a header field, which enters the dynamic table if is_indexed; returns its size. Values up to 16,000 bytes.
size_t PutField(uint8_t* out, bool is_indexed, const char* name, const char* value);
// Write the headers of a call to `path`: the first call fills the dynamic table, later ones refer to it.
size_t FirstHeaders(uint8_t* out, const char* path, const char* timeout);
size_t NextHeaders(uint8_t* out, bool has_timeout);
uint32_t TakeStream(Connection* connection);

// loop.c: sends and receives on every connection until the time is over.
void RunFlood(const Flood* flood, bool shows_progress);
// Closes the connection with a reset on behalf of the flood; it is opened again.
void Leave(Connection* connection);

#endif  // VITRINE_TESTS_FLOODS_FLOOD_H_
