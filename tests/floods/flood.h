// SPDX-License-Identifier: Apache-2.0
// A hostile HTTP/2 client that floods a server on this machine as fast as one core allows.
#ifndef VITRINE_TESTS_FLOODS_FLOOD_H_
#define VITRINE_TESTS_FLOODS_FLOOD_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { kMostStreams = 1024 };

// Types of HTTP/2 frames, and flags.
enum { kData, kHeaders, kPriority, kRstStream, kSettings, kPushPromise, kPing, kGoaway, kWindowUpdate, kContinuation };
enum { kPriorityUpdate = 16, kUnknownType = 0x42 };  // RFC 9218; and a type that no standard defines
enum { kEndStream = 1, kAck = 1, kEndHeaders = 4, kPadded = 8 };

// A stream in progress; unused if `id` is 0.
typedef struct Stream {
  uint32_t id;
  double since;
  bool has_headers;  // true: response headers have arrived, and did not end the stream
  bool has_data;     // bytes of the response arrived
} Stream;

typedef struct Connection {
  int fd;       // -1: not connected
  int number;   // index of the connection, from 0
  int variant;  // `number` plus the count of reconnects; selects the variant of a flood
  bool connected, readable, writable, reads, has_goaway, had_bytes;
  double opened_at, goaway_at, next_at;  // in seconds, like Now(); next_at: earliest time of the next write or connect
  uint32_t next_stream;
  int64_t send_window;  // window of the connection
  uint32_t most_streams;
  double tokens;  // number of calls that have become due since opened_at, in floods with a fixed rate
  Stream streams[kMostStreams];
  uint8_t* out;
  size_t begin, end;  // range of `out` still to be sent
  uint8_t in[64];     // header and first bytes of the frame being received
  size_t in_size, in_skip;
  void* tls;
} Connection;

typedef struct Flood {
  const char* name;
  const char* what;
  int sockets;                // number of sockets for each connection of --connections
  double interval;            // seconds between two calls of `fill`; 0: no pause
  bool is_raw;                // sends bytes without preface or frames
  bool is_silent;             // does not answer frames of the server
  void (*open)(Connection*);  // called when connected; may be null
  void (*fill)(Connection*);  // appends frames to an empty `out`, or nothing
  void (*received)(Connection*, uint8_t type, uint8_t flags, uint32_t stream, size_t length);  // may be null
  void (*bytes)(Connection*, const uint8_t*, size_t);                                          // used if is_raw
} Flood;

typedef struct Options {
  int connections;
  double seconds;
  int in_flight;     // concurrent calls per connection
  double rate;       // calls per second over all connections
  double deadline;   // seconds after which `proxy` resets a call
  const char* path;  // :path of the calls
  uint8_t* message;  // message of the calls with gRPC's prefix; null: an empty message
  size_t message_size;
  bool refill;  // true: starts another call when one ends
} Options;

typedef struct Counts {
  int64_t bytes, frames, connections, cut_off, refused, goaways, resets;  // resets: RST_STREAM frames from the server
  // Numbers of calls. `ended` counts calls that ended without response data.
  int64_t begun, answered, ended, given_up;
  int64_t waiting;  // number of incomplete responses
} Counts;

extern Options options;
extern Counts counts;

double Now(void);

// Floods of frames (floods.c), of calls (calls.c), and below HTTP/2 (handshakes.c).
extern const Flood kFrameFloods[];
extern const Flood kCallFloods[];
extern const Flood kRawFloods[];

// Functions of frames.c. Put, PutFrame, PutNumber and PutPreface append to connection->out, and Flood::fill must call
// RoomFor before them.
bool RoomFor(const Connection* connection, size_t bytes);
void Put(Connection* connection, const void* bytes, size_t size);
void PutFrame(Connection* connection, uint8_t type, uint8_t flags, uint32_t stream, const void* body, size_t size);
void PutNumber(Connection* connection, uint8_t type, uint32_t stream, uint32_t number);  // RST_STREAM, WINDOW_UPDATE
void PutPreface(Connection* connection);
// Writes a header field and returns its size. If `is_indexed` is true, the field is added to the dynamic table. `value`
// has at most 16,000 bytes.
size_t PutField(uint8_t* out, bool is_indexed, const char* name, const char* value);
// Write the headers of a request. FirstHeaders adds them to the dynamic table; NextHeaders refers to that table.
size_t FirstHeaders(uint8_t* out, const char* path);
size_t NextHeaders(uint8_t* out);
uint32_t TakeStream(Connection* connection);

// Sends and receives on every connection until the time has passed (in loop.c).
void RunFlood(const Flood* flood, bool shows_progress);
// Resets the connection as part of the flood. The main loop opens it again.
void Leave(Connection* connection);

#endif  // VITRINE_TESTS_FLOODS_FLOOD_H_
