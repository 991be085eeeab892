// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "flood.h"
#include "loop.h"

bool RoomFor(const Connection* connection, size_t bytes) {
  return connection->end + bytes + 1024 <= kOutBytes;
}

void Put(Connection* connection, const void* bytes, size_t size) {
  if (connection->end + size > kOutBytes) return;
  memcpy(connection->out + connection->end, bytes, size);
  connection->end += size;
}

static void Number(uint8_t* out, uint32_t number) {
  out[0] = (uint8_t)(number >> 24), out[1] = (uint8_t)(number >> 16);
  out[2] = (uint8_t)(number >> 8), out[3] = (uint8_t)number;
}

void PutFrame(Connection* connection, uint8_t type, uint8_t flags, uint32_t stream, const void* body, size_t size) {
  if (connection->end + 9 + size > kOutBytes) return;
  uint8_t* out = connection->out + connection->end;
  Number(out, (uint32_t)size << 8 | type);
  out[4] = flags;
  Number(out + 5, stream);
  if (size) memcpy(out + 9, body, size);
  connection->end += 9 + size;
  ++counts.frames;
}

void PutNumber(Connection* connection, uint8_t type, uint32_t stream, uint32_t number) {
  uint8_t body[4];
  Number(body, number);
  PutFrame(connection, type, 0, stream, body, 4);
}

void PutPreface(Connection* connection) {
  Put(connection, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
}

static size_t PutString(uint8_t* out, const char* text) {
  const size_t size = strlen(text);
  size_t at = 0, rest = size;
  if (size < 127) {
    out[at++] = (uint8_t)size;
  } else {
    out[at++] = 127;
    for (rest -= 127; rest >= 128; rest /= 128) out[at++] = (uint8_t)(rest % 128 + 128);
    out[at++] = (uint8_t)rest;
  }
  memcpy(out + at, text, size);
  return at + size;
}

size_t PutField(uint8_t* out, bool is_indexed, const char* name, const char* value) {
  out[0] = is_indexed ? 0x40 : 0;
  const size_t size = 1 + PutString(out + 1, name);
  return size + PutString(out + size, value);
}

size_t FirstHeaders(uint8_t* out, const char* path) {
  out[0] = 0x83, out[1] = 0x86;  // :method POST, :scheme http
  size_t size = 2;
  size += PutField(out + size, true, ":path", path);
  size += PutField(out + size, true, ":authority", "x");
  size += PutField(out + size, true, "content-type", "application/grpc");
  size += PutField(out + size, true, "te", "trailers");
  return size;
}

size_t NextHeaders(uint8_t* out) {
  const size_t fields = 4;
  out[0] = 0x83, out[1] = 0x86;
  for (size_t i = 0; i < fields; ++i) out[2 + i] = (uint8_t)(0x80 + 62 + fields - 1 - i);
  return 2 + fields;
}

uint32_t TakeStream(Connection* connection) {
  const uint32_t stream = connection->next_stream;
  if (stream < 0x7ffffff0) connection->next_stream += 2;
  return stream;
}
