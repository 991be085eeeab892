// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "flood.h"

static Stream* Find(Connection* connection, uint32_t stream) {
  for (int i = 0; i < options.in_flight; ++i)
    if (connection->streams[i].id == stream) return &connection->streams[i];
  return NULL;
}

static void Free(Stream* stream) {
  counts.waiting -= stream->has_headers;
  memset(stream, 0, sizeof *stream);
}

static void Received(Connection* connection, uint8_t type, uint8_t flags, uint32_t stream, size_t length) {
  if (type != kData && type != kHeaders && type != kRstStream) return;
  Stream* found = stream ? Find(connection, stream) : NULL;
  if (!found) return;
  if (type == kData && length > 5) found->has_data = true;
  if (type == kRstStream || (flags & kEndStream)) {
    ++*(found->has_data ? &counts.answered : &counts.ended);
    Free(found);
  } else if (type == kHeaders && !found->has_headers) {
    found->has_headers = true;
    ++counts.waiting;
  }
}

// Sends SETTINGS with the window of each stream, and opens the connection's window fully. With HTTP/2's default window,
// a response would stop after 64 KB.
static void OpenWithWindow(Connection* connection, uint32_t window) {
  const uint8_t body[] = {
      0, 4, (uint8_t)(window >> 24), (uint8_t)(window >> 16), (uint8_t)(window >> 8), (uint8_t)window};
  PutFrame(connection, kSettings, 0, 0, body, sizeof body);
  PutNumber(connection, kWindowUpdate, 0, 0x7fff0000);
}

static void OpenWide(Connection* connection) {
  OpenWithWindow(connection, 0x7fffffff);
}
static void OpenNarrow(Connection* connection) {
  OpenWithWindow(connection, 0);
}

// Starts up to `most` calls, limited by the free streams and the server's window. Returns the number of started calls.
static int Begin(Connection* connection, int most, double now) {
  static const uint8_t kEmpty[5];
  const uint8_t* message = options.message ? options.message : kEmpty;
  const size_t size = options.message ? options.message_size : sizeof kEmpty;
  int begun = 0;
  for (int i = 0; i < options.in_flight && begun < most; ++i) {
    Stream* stream = &connection->streams[i];
    if (stream->id || !RoomFor(connection, size + 600) || connection->send_window < (int64_t)size) continue;
    const bool is_first = connection->next_stream == 1;
    if (!is_first && !connection->had_bytes) break;  // waits for the server's limits
    if (connection->had_bytes && i >= (int)connection->most_streams) break;
    uint8_t headers[600];
    stream->id = TakeStream(connection);
    stream->since = now;
    const size_t head =
        is_first ? FirstHeaders(headers, options.path) : NextHeaders(headers);
    PutFrame(connection, kHeaders, kEndHeaders, stream->id, headers, head);
    PutFrame(connection, kData, kEndStream, stream->id, message, size);
    connection->send_window -= (int64_t)size;
    ++counts.begun;
    ++begun;
  }
  return begun;
}

static void FillCalls(Connection* connection) {
  if (options.refill || connection->next_stream < 2u * (uint32_t)options.in_flight)
    Begin(connection, kMostStreams, Now());
}

// Starts calls at a fixed rate, and resets each one when its deadline has passed. Does not send the deadline
// (grpc-timeout) to the server, because the server would reject a call that cannot meet the deadline, and the client
// would have no call to reset.
static void FillProxy(Connection* connection) {
  const double now = Now();
  for (int i = 0; i < options.in_flight; ++i) {
    Stream* stream = &connection->streams[i];
    if (!stream->id || now < stream->since + options.deadline) continue;
    PutNumber(connection, kRstStream, stream->id, 8);
    ++counts.given_up;
    Free(stream);
  }
  const double due = (now - connection->opened_at) * options.rate / options.connections - connection->tokens;
  if (due >= 1) Begin(connection, (int)due, now);
  connection->tokens += due >= 1 ? (double)(int)due : 0;  // calls that could not start are not started later
}

// Announces a message of 100,000 bytes and sends one byte of it per second.
static void FillSlowBodies(Connection* connection) {
  static const uint8_t kPrefix[] = {0, 0, 1, 0x86, 0xa0};
  uint8_t headers[600];
  for (int i = 0; i < options.in_flight && RoomFor(connection, 700); ++i) {
    Stream* stream = &connection->streams[i];
    if (stream->id) {
      if (connection->send_window-- > 0) PutFrame(connection, kData, 0, stream->id, "x", 1);
      continue;
    }
    if (connection->had_bytes && i >= (int)connection->most_streams) break;
    const bool is_first = connection->next_stream == 1;
    stream->id = TakeStream(connection);
    PutFrame(connection, kHeaders, kEndHeaders, stream->id, headers,
             is_first ? FirstHeaders(headers, options.path) : NextHeaders(headers));
    PutFrame(connection, kData, 0, stream->id, kPrefix, sizeof kPrefix);
    connection->send_window -= (int64_t)sizeof kPrefix;
    ++counts.begun;
  }
}

const Flood kCallFloods[] = {
    {"window-0", "calls whose answers get no window", 1, 0.001, false, false, OpenNarrow, FillCalls, Received, NULL},
    {"slow-bodies", "bodies of 100 KB on 256 streams, a byte a second", 1, 1, false, false, OpenWide, FillSlowBodies,
     Received, NULL},
    {"calls", "no flood: --in-flight calls on each connection", 1, 0.001, false, false, OpenWide, FillCalls, Received,
     NULL},
    {"proxy", "no flood: --rate calls a second, each reset at its --deadline", 1, 0.001, false, false, OpenWide,
     FillProxy, Received, NULL},
    {0}};
